"""`python -m vit_course classify`."""

import re

import pytest
import torch
from conftest import ROOT, cases
from matplotlib.cbook import get_sample_data
from PIL import Image

from vit_course import data, pretrained
from vit_course.__main__ import main

pytestmark = pytest.mark.slow

HOPPER = str(get_sample_data("grace_hopper.jpg", asfileobj=False))


def table(text: str) -> list[tuple[str, float]]:
    """The lines of a printed table -> (name, probability) each."""
    _, *lines = (line for line in text.splitlines() if not line.startswith("It knows"))
    assert all(re.fullmatch(r" {1,3}\d+\.\d%  \S.*", line) and line.index("%") == 6 for line in lines)
    return [(line[9:], float(line[:6]) / 100) for line in lines]


def test_the_ten_words_by_default(capsys):
    assert main(["classify", HOPPER]) == 0
    out = capsys.readouterr().out
    words = "airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck"
    assert out.startswith(f"{HOPPER}, as vit-s14-cifar10 sees it:\n")
    assert out.endswith(f"It knows 10 words: {words}.\n")
    expected = pretrained.load_run("vit-s14-cifar10").top(HOPPER)
    rows = table(out[: out.index("It knows")])
    assert [name for name, _ in rows] == [name for name, _ in expected]
    assert [p for _, p in rows] == pytest.approx([p for _, p in expected], abs=6e-4)


def test_the_checkpoint_of_the_course(tmp_path, capsys):
    dataset = data.shapes(num_train=1, num_validation=1, num_test=20)
    model, statistics = pretrained.load("shapes"), data.shapes()
    for i in (0, 3):
        picture = dataset.test.images[i]
        path = tmp_path / f"{i}.png"
        Image.fromarray(picture.permute(1, 2, 0).numpy()).save(path)
        assert main(["classify", str(path), "--weights", "shapes"]) == 0
        rows = table(capsys.readouterr().out)
        assert rows[0][0] == data.SHAPES[dataset.test.labels[i]] and len(rows) == 5
        with torch.no_grad():
            probabilities = model(statistics.normalise(picture[None])).softmax(dim=1)[0]
        expected = dict(zip(data.SHAPES, probabilities.tolist(), strict=True))
        assert {name: p for name, p in rows} == pytest.approx(expected, abs=6e-4)


@cases(
    ("arguments", "message"),
    [
        (["README.md"], "README.md is no readable image"),
        (["res/screenshot.png", "--weights", "res"], "res: there is no config.json"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments, message, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["classify", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.startswith("error: ") and error.count("\n") == 1
