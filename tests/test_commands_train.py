"""`python -m vit_course train`."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch
from conftest import cases

from vit_course import data, pretrained
from vit_course.__main__ import main
from vit_course.commands.recipes import known_recipes, read_recipe

QUICK = ["--data", "shapes", "--num-train", "60", "--image-size", "8", "--epochs", "2", "--hidden-dim", "8"]


def test_train_writes_a_whole_run_folder(tmp_path, capsys):
    assert main(["train", *QUICK, "--num-heads", "2", "--pool", "mean", "--flip", "--out", str(tmp_path / "run")]) == 0
    out = capsys.readouterr().out
    assert "60 training images of 8 x 8" in out and "of a linear classifier" in out
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {"config.json", "log.csv", "curves.png", "result.json", "best.safetensors", "last.safetensors"}
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (
        config["model"]["pool"] == "mean" and config["training"]["flip"] is True and config["training"]["epochs"] == 2
    )
    assert len((tmp_path / "run" / "log.csv").read_text().splitlines()) == 3
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert set(result) == {"test_accuracy", "linear_test_accuracy", "training_seconds"}
    model = pretrained.load(str(tmp_path / "run" / "best.safetensors"))
    assert model(torch.zeros(1, 3, 8, 8)).shape == (1, 5)
    assert f"model: {sum(p.numel() for p in model.parameters())} parameters" in out


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
    words = f"stopped; the same command with --resume goes on from the last whole epoch in {tmp_path}\n"
    assert words in capsys.readouterr().err and not (tmp_path / "result.json").exists()
    assert len(pretrained.load_run(str(tmp_path)).class_names) == 5
    assert main([*command, "--num-train", "61", "--resume"]) == 2
    assert "training_images 60, this run's data are of training_images 61" in capsys.readouterr().err
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


@cases("name", known_recipes().split(", "))
def test_the_course_s_recipes_are_read(name):
    recipe = read_recipe({"recipe": name, "seed": 7, "dropout": 0.3, "data": "digits"})
    assert (recipe.name, recipe.training.seed, recipe.model["dropout"]) == (name, 7, 0.3)
    assert recipe.data == {"source": "digits"}, "what belonged to other data is gone"


@cases(
    ("old", "new", "message"),
    [
        ("[data]", "[data", "is no valid TOML"),
        ('"digits"', '"\udcff"', "is no valid TOML"),
        ("[training]\nepochs = 5\n", "", "has the parts ['data', 'model'], a recipe has ['data', 'model', 'training']"),
        ('[data]\nsource = "digits"\n', 'data = "digits"\n', "a recipe's data is a part with names in it, [data]; "),
        ("hidden_dim", "hiden_dim", "a recipe's [model] has no 'hiden_dim'; it has patch_size, hidden_dim, "),
        ("mlp_dim = 8", "image_size = 8", "a recipe's [model] has no 'image_size'; it has patch_size"),
        ("mlp_dim = 8\n", "", "a recipe's [model] needs mlp_dim"),
        ("hidden_dim = 8", "hidden_dim = 0", "hidden_dim must be "),
        ('source = "digits"', "source = 3", "or an existing folder, got 3"),
    ],
)
def test_a_broken_recipe(old, new, message, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(data, "from_recipe", lambda values: pytest.fail("data were made"), raising=False)
    recipe = tmp_path / "broken.toml"
    assert old in MINE
    recipe.write_bytes(MINE.replace(old, new, 1).encode("utf-8", "surrogateescape"))
    assert main(["train", "--recipe", str(recipe), "--out", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert message in error and error.startswith("error: ") and error.count("\n") == 1
    assert not (tmp_path / "run").exists()


@cases(
    ("flags", "message"),
    [
        (["--image-size", "30", "--num-train", "9"], "image height 30 is not a multiple of patch size 4"),
        (["--device", "cuda:77", "--num-train", "9"], "device 'cuda:77' is not available here"),
        (["--resume", "--num-train", "9"], "there is no checkpoint"),
    ],
)
def test_bad_input_is_one_line_and_exit_2_and_writes_nothing(flags, message, tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["train", *flags, "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert message in error and error.startswith("error: ") and error.count("\n") == 1
    assert not out.exists()


def test_a_model_that_does_not_fit_into_memory_is_refused_before_it_is_built(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=300_000_000))
    wide = [*QUICK[:-2], "--hidden-dim", "1280", "--out", str(tmp_path / "run")]
    assert main(["train", *wide]) == 2
    # Attention has 4 matrices of 1280 x 1280 in each of 4 layers, the MLP 2 of 1280 x 128: 27.6 million in all.
    error = capsys.readouterr().err
    assert "27,6" in error and "need 0.4 GB of memory" in error and "0.3 GB are free" in error
    assert error.startswith("error: ") and error.count("\n") == 1 and not (tmp_path / "run").exists()
