"""`python -m vit_course explore` and `classify`: the commands on a picture."""

import json
import re
from pathlib import Path

import pytest
import torch
from conftest import ROOT, cases
from PIL import Image

from vit_course import data, pretrained
from vit_course.__main__ import main
from vit_course.commands.explore import CHANGED
from vit_course.explorer.beside import CHANGES

NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


@pytest.fixture
def photograph(tmp_path, monkeypatch) -> Path:
    """A picture of no model's size, in another folder than the one in which somebody is."""
    path = tmp_path / "pictures" / "photograph.png"
    path.parent.mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Image.effect_noise((90, 60), 80).save(path)
    return path


def test_explore_writes_a_page_with_the_real_model(photograph, capsys):
    assert main(["explore", str(photograph)]) == 0
    page = Path("photograph.html").read_text()
    assert "<h1>Attention in photograph.png, vit-s14</h1>" in page and '"layers": 12' in page and '"heads": 6' in page
    assert "vit-s14, 12 layers of 6 heads, 16 x 16 patches" in capsys.readouterr().out
    assert CHANGED == CHANGES, "the command's own list, which needs no PyTorch"


def test_explore_takes_other_weights_and_sizes(photograph, capsys):
    command = ["explore", str(photograph), "--weights", "shapes"]
    assert main(command) == 0
    page = Path("photograph.html").read_text()
    assert "<h1>Attention in photograph.png, shapes</h1>" in page and '"layers": 4' in page
    assert "shapes, 4 layers of 4 heads, 8 x 8 patches" in capsys.readouterr().out
    assert main([*command, "--image-size", "48", "--force"]) == 0
    assert "shapes, 4 layers of 4 heads, 12 x 12 patches" in capsys.readouterr().out
    for more, message in ((["--image-size", "50", "--force"], "height 50 is not a multiple of"), ([], "add --force")):
        before = Path("photograph.html").read_bytes()
        assert main([*command, *more]) == 2
        assert message in capsys.readouterr().err and Path("photograph.html").read_bytes() == before


def test_explore_says_what_the_model_says(photograph, capsys):
    command = ["explore", str(photograph), "--weights", "vit-s14-cifar10", "--image-size", "112"]
    assert main(command) == 0
    says = state_of()["_panels"][0]["says"]
    assert len(says["labels"]) == 5 and set(says["labels"]) <= set(NAMES)


def state_of() -> dict:
    page = Path("photograph.html").read_text()
    return json.loads(re.search(r'class="vit-explorer-state">(.*?)</script>', page, re.DOTALL)[1])


@pytest.mark.parametrize("beside", ["flipped", "shuffled", "cropped", "picture"])
def test_explore_sets_something_beside(photograph, tmp_path, beside, capsys):
    if beside == "picture":
        Image.effect_noise((60, 70), 80).save(tmp_path / "other.png")
    second = str(tmp_path / "other.png") if beside == "picture" else beside
    assert main(["explore", str(photograph), "--weights", "shapes", "--beside", second]) == 0
    first, other = state_of()["_panels"]
    assert [first["title"], other["title"]] == ["photograph", "other" if beside == "picture" else beside]
    assert (other["link"] is None) == (beside == "picture")


def table(text: str) -> list[tuple[str, float]]:
    """The lines of a printed table -> (name, probability) each."""
    _, *lines = (line for line in text.splitlines() if not line.startswith("It knows"))
    assert all(re.fullmatch(r" {1,3}\d+\.\d%  \S.*", line) and line.index("%") == 6 for line in lines)
    return [(line[9:], float(line[:6]) / 100) for line in lines]


@pytest.mark.slow
def test_classify_has_ten_words_by_default(capsys):
    hopper = str(ROOT / "res" / "photographs" / "grace_hopper.jpg")
    assert main(["classify", hopper]) == 0
    out = capsys.readouterr().out
    words = "airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck"
    assert out.startswith(f"{hopper}, as vit-s14-cifar10 sees it:\n")
    assert out.endswith(f"It knows 10 words: {words}.\n")
    expected = pretrained.load_run("vit-s14-cifar10").top(hopper)
    rows = table(out[: out.index("It knows")])
    assert [name for name, _ in rows] == [name for name, _ in expected]
    assert [p for _, p in rows] == pytest.approx([p for _, p in expected], abs=6e-4)


@pytest.mark.slow
def test_classify_takes_the_checkpoint_of_the_course(tmp_path, capsys):
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


def test_the_names_of_classes_are_harmless(photograph, capsys, monkeypatch):
    class Model:
        class_names = ("\x1b]0;mine\a", "two\nlines", "\u202eright to left")

        def top(self, picture):
            return [(name, 1 / 3) for name in self.class_names]

    monkeypatch.setattr(pretrained, "load_any", lambda *_, **__: Model())
    assert main(["classify", str(photograph)]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 5 and all(one.isprintable() for one in out.replace("\n", ""))
    assert out.count(r"\x1b]0;mine\x07") == out.count(r"two\nlines") == out.count(r"\u202eright") == 2


def test_the_picture_is_never_replaced_by_its_page(photograph, capsys):
    picture = photograph.rename("pic.html")
    before = picture.read_bytes()
    Path("link.html").symlink_to("pic.html")
    more = ([], ["-o", "link.html"], ["-o", "../here/pic.html"])
    for arguments in (["pic.html", "--force", *one] for one in more):
        assert main(["explore", *arguments]) == 2
        assert "pic.html is what is read" in (error := capsys.readouterr().err) or "link.html is what" in error
        assert Path("pic.html").read_bytes() == before


@cases(
    ("arguments", "message"),
    [
        (["explore", "README.md"], "no readable image"),
        (["explore", ""], "there is no file without a name"),
        (["explore", "res"], "res is a folder: give the file of a picture"),
        (["explore", "https://example.org/cat.jpg"], "https://example.org/cat.jpg"),
        (["explore", "res/screenshot.png", "--weights", "none"], "there is no folder 'none', and it is no name of"),
        (["explore", "res/screenshot.png", "--beside", "mirrored"], "there is no file mirrored"),
        (["classify", "README.md"], "README.md is no readable image"),
        (["classify", "res/screenshot.png", "--weights", "res"], "res: there is no config.json"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_2(arguments, message, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error and error.startswith("error: ") and error.count("\n") == 1
