"""A run folder: one training at a time in it, its checkpoints and its log, and what a run goes on with."""

import csv
import json
import os
import platform
import subprocess
import sys

import pytest
import torch
from conftest import ROOT, thoroughly
from runs import CONFIG, cut_after, new_model, same
from torch import nn

from vit_course import data, pretrained, training
from vit_course._support.files.weights import load_weights
from vit_course.config import ViTConfig
from vit_course.training.run_folder import Lock
from vit_course.vit import ViT

DATASET = data.shapes(40, 10, 10, image_size=(12, 8))
RECIPE = training.TrainingConfig(epochs=2, batch_size=16)


def train(folder, **options):
    data.seed_everything(3)
    model = nn.Sequential(nn.Flatten(), nn.Linear(288, 5))
    return training.train(model, DATASET, RECIPE, folder, **{"progress": False, **options})


# Trains, and in its second step says so and waits: for its end, or for somebody to close its input.
WAITS = """
import sys
sys.path.insert(0, "tests")
import test_run_folder as here
from vit_course.training import optimisers
real, steps = optimisers.Stepper.step, []
def step(*arguments):
    steps.append(1)
    if len(steps) == 5:
        print("training", flush=True)
        sys.stdin.read()
    return real(*arguments)
optimisers.Stepper.step = step
here.train(sys.argv[1])
"""


@pytest.fixture
def training_process(tmp_path):
    """A process that is in the second epoch of a run into `tmp_path / "run"`."""
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS, str(tmp_path / "run")],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "training\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("killed", [True, *thoroughly(False)])
def test_a_second_training_is_refused_while_the_first_lives(killed, training_process, tmp_path):
    folder = tmp_path / "run"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    owner = f"process {training_process.pid} on host {platform.node()}"
    for resume in (False, True):
        with pytest.raises(ValueError, match=f"{owner} is training into {folder}: wait"):
            train(folder, resume=resume)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    if killed:
        training_process.kill()
    training_process.communicate()  # or it goes on to its end
    assert (folder / ".lock").exists() == killed and (training_process.returncode == 0) != killed
    assert train(folder, resume=True) == train(None) and not list(folder.glob(".*"))


def test_a_lock_file_of_nobody_is_no_lock(tmp_path):
    for content in ("", "process 1 on host elsewhere"):
        (tmp_path / ".lock").write_text(content)
        lock = Lock(tmp_path)
        lock.take()
        with pytest.raises(ValueError, match=f"process {os.getpid()} on host .* is training into"):
            Lock(tmp_path).take()
        lock.release()
        assert not list(tmp_path.iterdir())


def test_an_error_gives_the_lock_back(tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training.loop, "measured", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path / "run")
    assert not (tmp_path / "run").exists(), "nothing was written, and the folder had been made for the run"
    assert len(train(tmp_path / "run")) == 2


def test_a_refused_run_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match=r"gives shape \(16, 4\) for 16 images, but shapes has 5 classes"):
        training.train(nn.Sequential(nn.Flatten(), nn.Linear(288, 4)), DATASET, RECIPE, tmp_path / "run")
    with pytest.raises(ValueError, match=r"there is no checkpoint .*run/last\.safetensors"):
        train(tmp_path / "run", resume=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["log.csv", "config.json", "unreadable.txt", "best.safetensors"])
def test_a_file_of_another_program_is_not_replaced(name, tmp_path):
    (tmp_path / name).write_text('{"mine": 1}')
    with pytest.raises(ValueError, match=f"{name} is not from a run, and would be replaced: name another folder"):
        train(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name).read_text() == '{"mine": 1}'


def test_what_a_run_left_that_ended_early_is_replaced(tmp_path):
    train(tmp_path)
    (tmp_path / "last.safetensors").unlink()
    assert len(train(tmp_path)) == 2


# ---- what is kept, and gone on with
SMOOTH = training.TrainingConfig(epochs=3, batch_size=32, padding=2, flip=True, label_smoothing=0.1)


def test_resume_is_exact(dataset, tmp_path, monkeypatch):
    whole = new_model()
    history = training.train(whole, dataset, SMOOTH, tmp_path / "whole", progress=False)

    cut_after(2, monkeypatch, tmp_path / "cut", dataset, SMOOTH)
    torch.manual_seed(99)  # another process would start anywhere
    resumed = new_model()
    assert training.train(resumed, dataset, SMOOTH, tmp_path / "cut", resume=True, progress=False) == history
    assert same(whole, resumed)
    for name in ("last.safetensors", "best.safetensors", "log.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "cut" / name).read_bytes()


def test_best_and_last_checkpoint_and_log(dataset, tmp_path):
    model = new_model()
    history = training.train(model, dataset, SMOOTH, tmp_path, progress=False)
    state, metadata = load_weights(tmp_path / "best.safetensors")
    assert ViTConfig(**metadata["config"]) == CONFIG
    best = ViT(CONFIG)
    best.load_state_dict(state)
    _, accuracy = training.evaluate(best, dataset.validation, dataset)
    assert accuracy == max(row["validation_accuracy"] for row in history)
    rows = list(csv.DictReader((tmp_path / "log.csv").read_text().splitlines()))
    assert [float(row["train_loss"]) for row in rows] == [round(row["train_loss"], 6) for row in history]
    names = ["best.safetensors", "config.json", "last.safetensors", "log.csv"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    kept = json.loads((tmp_path / "config.json").read_text())
    assert ViTConfig(**kept["model"]) == CONFIG and training.TrainingConfig(**kept["training"]) == SMOOTH
    assert kept["images"] == {
        "class_names": list(data.SHAPES), "mean": list(dataset.mean), "std": list(dataset.std)
    }  # fmt: skip
    run = pretrained.load_run(str(tmp_path))
    assert same(run.model, best) and run.class_names == list(data.SHAPES)


def test_what_is_validated_and_kept_is_the_running_average(dataset, tmp_path, monkeypatch):
    recipe = training.TrainingConfig(epochs=2, batch_size=50, average=0.75)
    model, seen, validated = new_model(), [], []
    model.register_forward_pre_hook(lambda m, _: seen.append(m.head.bias.detach().clone()) if m.training else None)

    def scripted(kept, *arguments, **options):
        validated.append(kept.model.head.bias.detach().clone())
        return {"loss": 1.0, "accuracy": [0.9, 0.5][len(validated) - 1]}

    monkeypatch.setattr(training.loop, "measured", scripted)
    training.train(model, dataset, recipe, tmp_path, progress=False)
    last, _ = load_weights(tmp_path / "last.safetensors")
    steps = [*seen[1:], last["objective.model.head.bias"]]  # the bias after each of the four steps
    assert len(steps) == 4
    average = steps[0]
    for step in steps[1:]:
        average = 0.75 * average + 0.25 * step
    torch.testing.assert_close(last["average.module.model.head.bias"], average)
    torch.testing.assert_close(validated[-1], average)
    assert not torch.allclose(average, steps[-1], atol=1e-6)
    # The first epoch is the best by the script, and what the caller holds is what was validated last.
    best, _ = load_weights(tmp_path / "best.safetensors")
    assert torch.equal(best["head.bias"], validated[0]) and not torch.equal(*validated)
    assert torch.equal(model.head.bias, last["average.module.model.head.bias"])
    resumed = new_model()
    training.train(resumed, dataset, recipe, tmp_path, resume=True, progress=False)
    assert same(model, resumed)
