"""`python -m vit_course train`: its run folder, resuming, recipes, and weights to start from."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch
from runs import one_line

from vit_course import data, pretrained
from vit_course.__main__ import main
from vit_course.commands.recipes import known_recipes, read_recipe
from vit_course.training.features import knn_accuracy

pytestmark = pytest.mark.slow

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
    assert "already holds a run: add --resume" in capsys.readouterr().err
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
    assert "whose data has training_images 60, but this run's has 61" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0
    assert "training_seconds" not in json.loads((tmp_path / "result.json").read_text()), "it was not the whole run"


MINE = (
    '[data]\nsource = "digits"\n[model]\npatch_size = 4\nhidden_dim = 8\nnum_layers = 1\nnum_heads = 2\nmlp_dim = 8\n'
    "[training]\nepochs = 5\n"
)


def test_a_recipe_without_end_is_not_read(tmp_path):
    with (tmp_path / "large.toml").open("wb") as file:
        file.truncate(2**26 + 1)
    with pytest.raises(ValueError, match=r"large\.toml has 67,108,865 bytes, at most 67,108,864 are allowed"):
        read_recipe({"recipe": str(tmp_path / "large.toml")})


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
        (
            "[training]\nepochs = 5\n",
            "",
            "has the tables ['data', 'model'], but a recipe needs ['data', 'model', 'training']",
        ),
        ('[data]\nsource = "digits"\n', 'data = "digits"\n', "a recipe's data must be a table, [data], but "),
        ("hidden_dim", "hiden_dim", "a recipe's [model] has no 'hiden_dim'; it has patch_size, hidden_dim, "),
        ("mlp_dim = 8", "image_size = 8", "a recipe's [model] has no 'image_size'; it has patch_size"),
        ("mlp_dim = 8\n", "", "a recipe's [model] needs mlp_dim"),
        ("hidden_dim = 8", "hidden_dim = 0", "hidden_dim must be "),
        ('source = "digits"', "source = 3", "or an existing folder, got 3"),
        ("[training]", "[objective]\nname = [1]\n[training]", "objective must be 'supervised', 'masked', 'self-"),
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
