"""`python -m vit_course explore` and `classify`: the commands on a picture; and what they and `train` refuse."""

import json
import re
from pathlib import Path

import pytest
import torch
from conftest import ROOT
from PIL import Image
from runs import one_line

from vit_course import data, pretrained
from vit_course.__main__ import main
from vit_course.commands.explore import CHANGED
from vit_course.explorer.comparison import CHANGES

pytestmark = pytest.mark.slow

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


def test_classify_has_ten_words_by_default(capsys):
    hopper, cat = (str(ROOT / "res" / "photographs" / f"{name}.jpg") for name in ("grace_hopper", "cat"))
    assert main(["classify", hopper]) == 0
    first, none, knows = capsys.readouterr().out.splitlines()
    assert none.startswith("None of its 10 words fits: ") and knows.startswith("It knows 10 words"), "nobody is a dog"
    assert main(["classify", cat]) == 0
    out = capsys.readouterr().out
    words = "airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck"
    assert out.startswith(f"{cat}, as vit-s14-cifar10 sees it:\n") and first == out.split("\n")[0].replace(cat, hopper)
    assert out.endswith(f"It knows 10 words: {words}.\n")
    expected = pretrained.load_run("vit-s14-cifar10").top(cat)
    rows = table(out[: out.index("It knows")])
    assert [name for name, _ in rows] == [name for name, _ in expected]
    assert [p for _, p in rows] == pytest.approx([p for _, p in expected], abs=6e-4)


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
        model = preprocess = staticmethod(lambda given: given)

        def top(self, picture):
            return [(name, 1 / 3) for name in self.class_names]

    monkeypatch.setattr(pretrained, "load_run", lambda *_, **__: Model())
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
        assert (
            "pic.html is an input file" in (error := capsys.readouterr().err) or "link.html is an input file" in error
        )
        assert Path("pic.html").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explore", "README.md"], "not a readable image"),
        (["explore", ""], "the name of a picture is needed, got an empty one"),
        (["explore", "res"], "res is a folder: give the file of a picture"),
        (["explore", "https://example.org/cat.jpg"], "https://example.org/cat.jpg"),
        (
            ["explore", "res/screenshot.png", "--weights", "none"],
            "a published one is named with its library: timm:NAME",
        ),
        (["explore", "res/screenshot.png", "--beside", "mirrored"], "there is no file mirrored"),
        (["classify", "README.md"], "README.md is not a readable image"),
        (["classify", "res/screenshot.png", "--weights", "res"], "res is a folder without best.safetensors"),
        (["train", "--image-size", "30", "--num-train", "9"], "image height 30 is not a multiple of patch size 4"),
        (["train", "--device", "cuda:77", "--num-train", "9"], "device 'cuda:77' is not available here"),
        (["train", "--resume", "--num-train", "9"], "there is no checkpoint"),
        (
            ["train", "--objective", "clustering"],
            "objective must be 'supervised', 'masked', 'self-distilled' or 'contrastive', got 'clus",
        ),
        (
            ["train", "--objective", "masked", "--momentum", "0.9"],
            "the objective masked has no 'momentum'; it has mask_r",
        ),
        (
            ["train", "--recipe", "dino-cifar", "--mask-ratio", "0.5"],
            "the objective self-distilled has no 'mask_ratio'",
        ),
        (
            ["train", "--objective", "masked", "--representation-size", "8"],
            "representation_size belongs to a head, but",
        ),
        (["train", "--weights", "nonesuch"], "there is no checkpoint 'nonesuch'; the shipped ones are"),
        (["train", "--weights", "gone.safetensors"], "there is no checkpoint 'gone.safetensors'"),
        (["train", "--weights", "shapes", "--hidden-dim", "8"], "the model is that of shapes: leave hidden_dim out"),
        (["train", "--weights", "shapes", "--objective", "masked"], "--weights is for training with labels, but the"),
        (["train", "--weights", "shapes", "--data", "digits"], "take images of 3 channels, but those of digits have 1"),
        (["train", "--weights", "shapes", "--num-train", "9", "--image-size", "30"], "30 is not a multiple of patch"),
        (["train", "--outputs", "9"], "the objective supervised has no 'outputs'; it has no options"),
        (
            ["train", "--objective", "self-distilled", "--temperature", "0"],
            "temperature must be greater than 0, got 0.0",
        ),
        (
            ["train", "--objective", "masked", "--data", "digits", "--mask-ratio", "0.1"],
            "leaves 4 of 4 patches visible",
        ),
        (
            ["train", "--objective", "masked", "--data", "digits", "--mask-ratio", "0.9"],
            "leaves 0 of 4 patches visible",
        ),
        (
            ["train", "--objective", "masked", "--data", "digits", "--decoder-dim", "36"],
            "decoder_dim must be a multiple",
        ),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_2_and_writes_nothing(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main([*arguments, *(["--out", str(tmp_path / "run")] if arguments[0] == "train" else [])]) == 2
    one_line(capsys, message)
    assert not (tmp_path / "run").exists()
