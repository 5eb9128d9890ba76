"""What can happen to a run: kills at any moment, a full disk, damaged and foreign checkpoints, a dying worker."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import ROOT
from PIL import Image
from safetensors.torch import save_file
from torch import nn

from vit_course import checkpoints, data, training
from vit_course.__main__ import main
from vit_course.config import ViTConfig
from vit_course.training import TrainingConfig, train
from vit_course.vit import ViT

SIZES = dict(image_size=(12, 8), patch_size=4, num_classes=5, hidden_dim=16, num_layers=2, num_heads=2, mlp_dim=24)
RECIPE = TrainingConfig(epochs=3, batch_size=32, padding=2, flip=True, average=0.9, optimiser="muon")


@pytest.fixture(scope="module")
def dataset():
    return data.shapes(100, 40, 40, image_size=(12, 8))


def new_model(**changes) -> ViT:
    data.seed_everything(7)
    return ViT(ViTConfig(**{**SIZES, **changes}))


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the children are forked, which this system cannot")
def test_a_kill_at_any_moment_changes_nothing(tmp_path):
    outcome = subprocess.run(
        [sys.executable, ROOT / "tests" / "kills.py", tmp_path],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert outcome.returncode == 0, outcome.stderr
    result = json.loads(outcome.stdout.splitlines()[-1])
    assert result["files"] == ["best.safetensors", "last.safetensors", "log.csv"]
    # 4 epochs of at least 2 files, each with 4 moments; at some of them a part of a file is left behind.
    assert result["moments"] > 32 and result["leftovers"] > 8 and result["kills"] > 2
    assert result["wrong"] == []


def test_a_full_disk_is_named_and_the_run_goes_on_later(dataset, tmp_path, monkeypatch):
    history = train(new_model(), dataset, RECIPE, tmp_path / "whole", progress=False)
    calls, real = [], checkpoints.os.fsync

    def full(number):
        calls.append(number)
        if len(calls) == 5:  # best, last and log of epoch 1, best or last of epoch 2 ...
            raise OSError(28, "No space left on device")
        real(number)

    monkeypatch.setattr(checkpoints.os, "fsync", full)
    with pytest.raises(
        OSError, match=r"could not be written \(No space left on device\): \d+ bytes are needed, \d+ are"
    ):
        train(new_model(), dataset, RECIPE, tmp_path / "cut", progress=False)
    monkeypatch.undo()
    assert not [name for name in files(tmp_path / "cut") if name.startswith(".")]
    assert train(new_model(), dataset, RECIPE, tmp_path / "cut", resume=True, progress=False) == history
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def test_a_full_disk_on_the_command_line(tmp_path, monkeypatch, capsys):
    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints.os, "fsync", full)
    command = "train --data digits --patch-size 4 --hidden-dim 8 --num-layers 1 --num-heads 1 --mlp-dim 8 --epochs 1"
    assert main([*command.split(), "--out", str(tmp_path / "run")]) == 2
    assert "error: " in (error := capsys.readouterr().err) and "bytes are needed" in error and "Errno" not in error


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"could not be written .* what was there before is intact"):
        checkpoints.write_atomically(tmp_path / "file" / "run" / "log.csv", b"x")


def foreign_weights(path):
    checkpoints.save_weights(path, new_model())


def foreign_library(path):
    save_file({"layer": torch.zeros(2)}, path)


def a_pickle(path):
    torch.save({"model": new_model().state_dict()}, path)


def other_parts(path):
    checkpoints.save_state(path, {"other": nn.Linear(2, 2)}, [], {}, RECIPE, [])


def without_optimiser(path):
    modules = {"model": new_model(), "average": new_model()}
    checkpoints.save_state(path, modules, [], {"order": torch.zeros(1)}, RECIPE, [])


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (foreign_weights, r"holds no state of a run to go on with, 32 tensors of something else"),
        (foreign_library, r"holds no state of a run to go on with, 1 tensors"),
        (a_pickle, r"is no whole checkpoint"),
        (other_parts, r"holds the parts other, this run needs model, average, optimiser"),
        (without_optimiser, r"holds the parts average, model, random, this run needs"),
    ],
)
def test_foreign_checkpoints_are_refused_and_left_alone(write, message, dataset, tmp_path):
    path = tmp_path / "last.safetensors"
    write(path)
    before = path.read_bytes()
    model = new_model()
    weights = {key: value.clone() for key, value in model.state_dict().items()}
    with pytest.raises(ValueError, match=message):
        train(model, dataset, RECIPE, tmp_path, resume=True, progress=False)
    assert path.read_bytes() == before
    assert all(torch.equal(weights[key], value) for key, value in model.state_dict().items())


def test_a_state_of_an_older_version_goes_on(dataset, tmp_path, monkeypatch):
    recipe = TrainingConfig(epochs=2, batch_size=32)
    real = checkpoints.asdict
    newer = ("average", "precision", "optimiser")
    monkeypatch.setattr(checkpoints, "asdict", lambda c: {k: v for k, v in real(c).items() if k not in newer})
    history = train(new_model(), dataset, recipe, tmp_path, progress=False)
    monkeypatch.undo()
    assert train(new_model(), dataset, recipe, tmp_path, resume=True, progress=False) == history
    with pytest.raises(ValueError, match=r"was trained with average 0.0, this run has average 0.5"):
        train(new_model(), dataset, replace(recipe, average=0.5), tmp_path, resume=True, progress=False)


def test_a_loss_that_is_no_number_leaves_the_last_epoch(dataset, tmp_path, monkeypatch):
    real, calls = training.F.cross_entropy, []

    def spoiled(*arguments, **options):
        calls.append(1)
        loss = real(*arguments, **options)
        return loss * math.nan if len(calls) == 9 else loss  # 4 steps and 1 evaluation an epoch: in epoch 2

    monkeypatch.setattr(training.F, "cross_entropy", spoiled)
    with pytest.raises(ValueError, match=r"the loss is nan in epoch 2/3, step 4: a smaller learning_rate than 0.001"):
        train(new_model(), dataset, RECIPE, tmp_path / "cut", progress=False)
    monkeypatch.undo()
    history = train(new_model(), dataset, RECIPE, tmp_path / "whole", progress=False)
    assert train(new_model(), dataset, RECIPE, tmp_path / "cut", resume=True, progress=False) == history


@pytest.fixture
def pictures(tmp_path):
    """24 pictures of two classes, (H, W) = (20, 30)."""
    for i in range(24):
        path = tmp_path / "pictures" / f"class{i % 2}" / f"{i:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.RandomState(i).randint(0, 256, (20, 30, 3), dtype=np.uint8)).save(path)
    return tmp_path / "pictures"


@pytest.mark.skipif(sys.platform != "linux", reason="the fault is planted in a worker that is forked")
def test_a_worker_that_dies(pictures, tmp_path, monkeypatch):
    dataset = data.folder(pictures, image_size=(12, 8), on_disk=True)
    model = new_model(num_classes=2)
    recipe = TrainingConfig(epochs=2, batch_size=8)
    train(model, dataset, replace(recipe, epochs=1), tmp_path / "run", progress=False, workers=1)
    before = files(tmp_path / "run")
    monkeypatch.setattr(data, "open_image", lambda *arguments: os._exit(1))
    with pytest.raises(ValueError, match=r"one of 1 workers that read images died.*try fewer"):
        train(model, dataset, recipe, tmp_path / "run", progress=False, workers=1)
    assert files(tmp_path / "run") == before


def test_damaged_pictures_are_left_out_and_counted(pictures, tmp_path, capsys):
    for name in ("class0/04.png", "class1/07.png", "class1/13.png"):
        (pictures / name).write_bytes((pictures / name).read_bytes()[:60])
    command = "train --on-disk --image-size 8 --patch-size 4 --hidden-dim 8 --num-layers 1 --num-heads 1 --mlp-dim 8"
    arguments = [*command.split(), "--data", str(pictures), "--epochs=2", "--batch-size=5", "--workers=1"]
    assert main([*arguments, "--out", str(tmp_path / "run")]) == 0
    names = (tmp_path / "run" / "unreadable.txt").read_text().split()
    assert names == [str(pictures / name) for name in ("class0/04.png", "class1/07.png", "class1/13.png")]
    assert "3 files could not be read and were left out, such as" in capsys.readouterr().out
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert 0 <= result["test_accuracy"] <= 1 and "linear_test_accuracy" not in result


def test_nothing_but_damaged_pictures(pictures):
    for path in pictures.rglob("*.png"):
        path.write_bytes(b"")
    with pytest.raises(ValueError, match="none of the first 20 training images of pictures can be read"):
        data.folder(pictures, on_disk=True)
