import json
import re
import subprocess
import sys
import urllib.request

import pytest
import torch
from conftest import ROOT
from lab import running_lab

from vit_course import installation, pretrained, training
from vit_course.__main__ import main

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
    model = pretrained.load(str(tmp_path / "run" / "best.safetensors"))
    assert model(torch.zeros(1, 3, 8, 8)).shape == (1, 5)


def test_a_run_is_not_overwritten_but_resumed_if_asked(tmp_path, capsys):
    command = ["train", *QUICK, "--out", str(tmp_path)]
    assert main(command) == 0
    before = (tmp_path / "last.safetensors").read_bytes()
    assert main(command) == 2
    assert "holds a run already: add --resume" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0
    assert (tmp_path / "last.safetensors").read_bytes() == before


def cut_after_one_epoch(command, monkeypatch):
    real = training.write_csv

    def interrupted(*of_the_log):
        real(*of_the_log)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training, "write_csv", interrupted)
        assert main(command) == 130


def test_a_run_that_was_broken_off_can_be_used(tmp_path, monkeypatch):
    command = ["train", *QUICK, "--num-heads", "2", "--out", str(tmp_path)]
    cut_after_one_epoch(command, monkeypatch)
    assert not (tmp_path / "result.json").exists()
    model = pretrained.load_run(str(tmp_path))
    assert len(model.class_names) == 5


def test_a_resume_on_other_data_is_refused_and_changes_nothing(tmp_path, monkeypatch, capsys):
    command = ["train", *QUICK, "--num-heads", "2", "--out", str(tmp_path)]
    cut_after_one_epoch(command, monkeypatch)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    other = [*command, "--num-train", "61", "--resume"]
    assert main(other) == 2
    assert "data of num_train 60, this run's data are of num_train 61" in capsys.readouterr().err
    (tmp_path / "config.json").unlink()
    assert main(other) == 2
    assert "data of training_images 60, this run's data are of training_images 61" in capsys.readouterr().err
    (tmp_path / "config.json").write_bytes(before["config.json"])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    # A checkpoint of an older version does not say on which data; what lies beside it does.
    monkeypatch.setattr(training, "_describe", lambda dataset: {})
    assert main([*command, "--image-size", "12", "--patch-size", "6", "--resume"]) == 2
    assert "data of image_size 8, this run's data are of image_size 12" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0


def test_recipe_from_a_file_and_flags_over_it(tmp_path):
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        '[data]\nsource = "digits"\n[model]\npatch_size = 4\nhidden_dim = 8\nnum_layers = 1\nnum_heads = 2\n'
        "mlp_dim = 8\n[training]\nepochs = 5\n"
    )
    assert main(["train", "--recipe", str(recipe), "--epochs", "1", "--out", str(tmp_path / "run")]) == 0
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["training"]["epochs"] == 1 and config["model"]["in_channels"] == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--recipe", "nothing"], "there is no recipe 'nothing'; known are digits, shapes"),
        (["--data", "/no/such/folder"], "data must be shapes, digits, cifar10 or an existing folder"),
        (["--data", "digits", "--num-train", "9"], "unexpected keyword argument 'num_train'"),
        (["--hidden-dim", "30"], "hidden_dim 30 is not a multiple of num_heads 4"),
        (["--epochs", "0"], "epochs must be at least 1, got 0"),
        (["--image-size", "30", "--num-train", "9"], "image height 30 is not a multiple of patch size 4"),
        (["--device", "nonsense", "--num-train", "9"], "device 'nonsense' is not available here"),
        (["--resume", "--num-train", "9"], "there is no checkpoint"),
    ],
)
def test_bad_input_is_one_line_and_exit_2_and_writes_nothing(flags, message, tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["train", *flags, "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert message in error and error.startswith("error: ") and error.count("\n") == 1
    assert not out.exists()


def test_a_broken_recipe(tmp_path, capsys):
    recipe = tmp_path / "broken.toml"
    recipe.write_text("[data")
    assert main(["train", "--recipe", str(recipe)]) == 2
    assert "is no valid TOML" in capsys.readouterr().err
    recipe.write_text("[data]\nsource = 'digits'")
    assert main(["train", "--recipe", str(recipe)]) == 2
    assert "has the parts ['data'], a recipe has ['data', 'model', 'training']" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["lab"], ["train"], ["check"]])
def test_help(command):
    done = subprocess.run(
        [sys.executable, "-m", "vit_course", *command, "--help"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0 and "usage: python -m vit_course" in done.stdout and done.stderr == ""


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["train", "--nonsense"], ["train", "--epochs", "many"]])
def test_usage_errors_exit_2(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2 and "usage:" in capsys.readouterr().err


def test_check_is_content_here(capsys):
    assert main(["check"]) == 0
    assert "Everything is here" in capsys.readouterr().out


def test_check_says_what_is_wrong(monkeypatch):
    monkeypatch.setattr(
        installation.metadata, "requires", lambda name: ["torch~=1.0", "no-such-package>=1", "pytest; extra == 'test'"]
    )
    text, complete = installation.report()
    assert not complete and "pytest" not in text
    assert re.search(r"torch +\S+ found, ~=1.0 is needed", text)
    assert re.search(r"no-such-package *cannot be imported: ModuleNotFoundError", text)
    assert "python -m pip install -e ." in text


def test_lab_opens_at_chapter_00():
    with running_lab() as address:
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert answer.url == f"{address}/lab/tree/notebooks/00_start_here.ipynb"
        for path in ("notebooks/00_start_here.ipynb", "res/diagrams/model.svg"):
            with urllib.request.urlopen(f"{address}/api/contents/{path}?content=0", timeout=30) as answer:
                assert json.load(answer)["path"] == path


def test_explore_writes_a_page(tmp_path, capsys):
    from PIL import Image

    photograph = tmp_path / "photograph.png"
    Image.effect_noise((90, 60), 80).save(photograph)
    assert main(["explore", str(photograph)]) == 0
    page = (tmp_path / "photograph.html").read_text()
    assert "<h1>Attention in photograph.png</h1>" in page and '"layers": 4' in page and len(page) < 150_000
    assert "4 layers, 4 heads" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.png"], "there is no file none.png"),
        (["README.md"], "no readable image"),
        (["res/screenshot.png", "--checkpoint", "none"], "there is no checkpoint 'none'"),
        (["res/screenshot.png", "-o", "page.txt"], "must end in .html, got page.txt"),
    ],
)
def test_explore_says_what_is_wrong(arguments, message, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["explore", *arguments]) == 2
    assert message in capsys.readouterr().err
