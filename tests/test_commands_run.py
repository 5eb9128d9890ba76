"""`python -m vit_course explore`, `classify` and `train`: the commands on a picture, and on data."""

import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch
from conftest import ROOT
from PIL import Image

from vit_course import data, pretrained
from vit_course.__main__ import main
from vit_course.commands.explore import CHANGED
from vit_course.commands.recipes import known_recipes, read_recipe
from vit_course.explorer.comparison import CHANGES
from vit_course.training.features import knn_accuracy

pytestmark = pytest.mark.slow

NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def one_line(capsys, *words: str) -> None:
    error = capsys.readouterr().err
    assert all(word in error for word in words) and error.startswith("error: ") and error.count("\n") == 1, error


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
            "pic.html is the file that is read" in (error := capsys.readouterr().err)
            or "link.html is the file" in error
        )
        assert Path("pic.html").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explore", "README.md"], "not a readable image"),
        (["explore", ""], "there is no file without a name"),
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
            "objective must be 'supervised', 'masked' or 'self-distilled', got 'clus",
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
            "representation_size is of the head, and the",
        ),
        (["train", "--weights", "nonesuch"], "there is no checkpoint 'nonesuch'; the shipped ones are"),
        (["train", "--weights", "gone.safetensors"], "there is no checkpoint 'gone.safetensors'"),
        (["train", "--weights", "shapes", "--hidden-dim", "8"], "the model is that of shapes: leave hidden_dim out"),
        (["train", "--weights", "shapes", "--objective", "masked"], "--weights is for training with labels, and the"),
        (["train", "--weights", "shapes", "--data", "digits"], "take images of 3 channels, and those of digits have 1"),
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


QUICK = ["--data", "shapes", "--num-train", "60", "--image-size", "8", "--epochs", "2", "--hidden-dim", "8"]


def test_train_writes_a_whole_run_folder(tmp_path, capsys):
    assert main(["train", *QUICK, "--num-heads", "2", "--pool", "mean", "--flip", "--out", str(tmp_path / "run")]) == 0
    out = capsys.readouterr().out
    assert "60 training images of 8 x 8" in out and "a linear classifier" in out
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {"config.json", "log.csv", "curves.png", "result.json", "best.safetensors", "last.safetensors"}
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["model"]["pool"], config["training"]["flip"], config["training"]["epochs"]) == ("mean", True, 2)
    assert len((tmp_path / "run" / "log.csv").read_text().splitlines()) == 3
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert set(result) == {"test_accuracy", "linear_test_accuracy", "training_seconds"}
    model = pretrained.load(str(tmp_path / "run" / "best.safetensors"))
    assert model(torch.zeros(1, 3, 8, 8)).shape == (1, 5)
    assert f"model: {sum(p.numel() for p in model.parameters())} parameters" in out


def test_train_from_weights_keeps_what_they_know(tmp_path, capsys):
    command = ["train", "--data", "shapes", "--num-train", "300", "--epochs", "1"]
    assert main([*command, "--weights", "shapes", "--learning-rate", "1e-4", "--out", str(tmp_path / "tuned")]) == 0
    assert main([*command, "--image-size", "32", "--out", str(tmp_path / "new")]) == 0
    known, new = (json.loads((tmp_path / name / "result.json").read_text()) for name in ("tuned", "new"))
    assert known["test_accuracy"] > new["test_accuracy"] + 0.3
    begun, tuned = pretrained.load_run("shapes"), pretrained.load_run(tmp_path / "tuned")
    assert tuned.preprocess == begun.preprocess, "resized and normalised as before"
    weight = "encoder.blocks.0.mlp.contract.weight"
    before, after = (each.model.state_dict()[weight] for each in (begun, tuned))
    assert not before.equal(after) and torch.nn.functional.cosine_similarity(before, after, dim=1).min() > 0.9
    assert main([*command, "--weights", "shapes", "--image-size", "48", "--out", str(tmp_path / "larger")]) == 0
    assert pretrained.load(tmp_path / "larger").config.height_width == (48, 48)


@pytest.mark.parametrize(("objective", "row"), [("masked", "loss"), ("self-distilled", "entropy")])
def test_train_without_labels_tells_what_the_neighbours_know(objective, row, tmp_path, capsys):
    sizes = ["--epochs", "1", "--patch-size", "2", "--hidden-dim", "8", "--num-layers", "1", "--num-heads", "2"]
    assert main(["train", "--objective", objective, "--data", "digits", *sizes, "--out", str(tmp_path)]) == 0
    out, result = capsys.readouterr().out, json.loads((tmp_path / "result.json").read_text())
    assert f"objective: {objective}" in out and "accuracy of the 20 nearest neighbours 0." in out
    assert set(result) == {"knn_test_accuracy", "untrained_knn_test_accuracy", "training_seconds"}
    assert 0.3 < result["knn_test_accuracy"] < 1 and 0.3 < result["untrained_knn_test_accuracy"] < 1
    assert f"validation_{row}" in (tmp_path / "log.csv").read_text().splitlines()[0]
    run = pretrained.load_run(str(tmp_path))
    assert knn_accuracy(run.model, data.digits()) == result["knn_test_accuracy"] and not len(run.class_names)


def test_a_run_is_not_overwritten_but_resumed_if_asked(tmp_path, capsys):
    command = ["train", *QUICK, "--out", str(tmp_path)]
    assert main(command) == 0
    before = (tmp_path / "last.safetensors").read_bytes()
    assert main(command) == 2
    assert "holds a run already: add --resume" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0
    assert (tmp_path / "last.safetensors").read_bytes() == before


def test_a_run_that_was_broken_off_can_be_used(tmp_path, monkeypatch, capsys):
    command, real = ["train", *QUICK, "--num-heads", "2", "--out", str(tmp_path)], os.replace

    def interrupted(source, target, **options):
        real(source, target, **options)
        if Path(target).name == "last.safetensors":  # the state of the epoch is whole
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        assert main(command) == 130
    words = f"stopped; the same command with --resume continues from the last complete epoch in {tmp_path}\n"
    assert words in capsys.readouterr().err and not (tmp_path / "result.json").exists()
    assert len(pretrained.load_run(str(tmp_path)).class_names) == 5
    assert main([*command, "--num-train", "61", "--resume"]) == 2
    assert "whose data has training_images 60, and this run's has 61" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0
    assert "training_seconds" not in json.loads((tmp_path / "result.json").read_text()), "it was not the whole run"


MINE = (
    '[data]\nsource = "digits"\n[model]\npatch_size = 4\nhidden_dim = 8\nnum_layers = 1\nnum_heads = 2\nmlp_dim = 8\n'
    "[training]\nepochs = 5\n"
)


def test_recipe_from_a_file_and_flags_over_it(tmp_path):
    recipe = tmp_path / "mine.toml"
    recipe.write_text(MINE)
    assert main(["train", "--recipe", str(recipe), "--epochs", "1", "--out", str(tmp_path / "run")]) == 0
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["training"]["epochs"] == 1 and config["model"]["in_channels"] == 1


@pytest.mark.parametrize("name", known_recipes().split(", "))
def test_the_course_s_recipes_are_read(name):
    recipe = read_recipe({"recipe": name, "seed": 7, "dropout": 0.3, "data": "digits"})
    assert (recipe.name, recipe.training.seed, recipe.model["dropout"]) == (name, 7, 0.3)
    assert recipe.data == {"source": "digits"}, "what belonged to other data is gone"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[data]", "[data", "is not valid TOML"),
        ('"digits"', '"\udcff"', "is not valid TOML"),
        ("[training]\nepochs = 5\n", "", "has the parts ['data', 'model'], a recipe has ['data', 'model', 'training']"),
        ('[data]\nsource = "digits"\n', 'data = "digits"\n', "a recipe's data is a table, [data]; "),
        ("hidden_dim", "hiden_dim", "a recipe's [model] has no 'hiden_dim'; it has patch_size, hidden_dim, "),
        ("mlp_dim = 8", "image_size = 8", "a recipe's [model] has no 'image_size'; it has patch_size"),
        ("mlp_dim = 8\n", "", "a recipe's [model] needs mlp_dim"),
        ("hidden_dim = 8", "hidden_dim = 0", "hidden_dim must be "),
        ('source = "digits"', "source = 3", "or an existing folder, got 3"),
        ("[training]", "[objective]\nname = [1]\n[training]", "objective must be 'supervised', 'masked' or 'self-"),
        (
            "[training]",
            '[objective]\nname = "masked"\nmask_ratio = 2\n[training]',
            "mask_ratio must be at least 0 and le",
        ),
    ],
)
def test_a_broken_recipe(old, new, message, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(data, "from_recipe", lambda values: pytest.fail("data were made"), raising=False)
    recipe = tmp_path / "broken.toml"
    assert old in MINE
    recipe.write_bytes(MINE.replace(old, new, 1).encode("utf-8", "surrogateescape"))
    assert main(["train", "--recipe", str(recipe), "--out", str(tmp_path / "run")]) == 2
    one_line(capsys, message)
    assert not (tmp_path / "run").exists()


def test_a_model_that_does_not_fit_into_memory_is_refused_before_it_is_built(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=300_000_000))
    wide = [*QUICK[:-2], "--hidden-dim", "1280", "--out", str(tmp_path / "run")]
    assert main(["train", *wide]) == 2
    # Attention has 4 matrices of 1280 x 1280 in each of 4 layers, the MLP 2 of 1280 x 128: 27.6 million in all.
    one_line(capsys, "27,6", "need 0.4 GB of memory", "0.3 GB are free")
    assert not (tmp_path / "run").exists()
