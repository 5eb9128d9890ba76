"""Several processes over gloo, started as a user starts them, give what one process gives; and their files.

They compute in float64: in float32 the order of a sum shows after some steps, and hides a small fault.
"""

import csv
import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from conftest import ROOT, python
from runs import write_pictures

from vit_course import data
from vit_course.__main__ import main
from vit_course._support.files.weights import load_weights
from vit_course.commands import training_run

TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
# 300 is no multiple of 64, and the last batch of 44 goes into three parts of uneven shares.
DATA = ["--data", "shapes", "--num-train", "300", "--image-size", "16"]
MODEL = ["--hidden-dim", "16", "--num-layers", "2", "--num-heads", "2", "--mlp-dim", "24", "--no-qkv-bias"]
RECIPE = ["--epochs", "3", "--batch-size", "64", "--padding", "2", "--flip", "--label-smoothing=0.1", "--average=0.9"]
TRAIN = ["train", *DATA, *MODEL, *RECIPE]


def run(*arguments, cwd):
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "offline")])
    threads = {"OMP_NUM_THREADS": "1", "VIT_COURSE_FLOAT64": "1"}
    outcome = python(*arguments, cwd=cwd, timeout=1800, PYTHONPATH=path, **threads)
    return outcome.returncode, outcome.stdout, outcome.stderr


def rows(folder):
    return [{k: float(v) for k, v in row.items()} for row in csv.DictReader((folder / "log.csv").open())]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    code, _, errors = run("-m", "vit_course", *TRAIN, "--out", "run", cwd=folder)
    assert code == 0, errors
    return folder / "run"


def assert_the_same_run(folder, alone, tolerance=1e-9):
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in alone.iterdir())
    for ours, reference in zip(rows(folder), rows(alone), strict=True):
        assert ours == pytest.approx(reference, abs=tolerance)
    for name in ("best.safetensors", "last.safetensors"):
        ours, reference = load_weights(folder / name)[0], load_weights(alone / name)[0]
        for key, value in reference.items():
            if not key.startswith("random.dropout"):  # one row a process
                torch.testing.assert_close(ours[key], value, rtol=0, atol=tolerance)


@pytest.mark.slow
def test_two_processes_give_the_run_of_one(alone, tmp_path):
    # Each of them its share of each of the three parts of a batch.
    code, output, errors = run(*TORCHRUN, "-m", "vit_course", *TRAIN, "--accumulate=3", "--out", "run", cwd=tmp_path)
    assert code == 0, errors
    assert output.count("2 processes share each batch of 64 images") == 1
    assert output.count("epoch 3/3: train loss") == 1 and output.count("test accuracy") == 1  # one writes
    assert_the_same_run(tmp_path / "run", alone)


@pytest.mark.thorough
@pytest.mark.parametrize("objective", ["masked", "self-distilled"])
def test_two_processes_learn_without_labels_what_one_does(objective, tmp_path, float64):
    # The last batch of 17 goes into three parts of uneven shares.
    without = [*TRAIN, "--num-train=145", "--epochs=2", "--label-smoothing=0", "--objective", objective]
    options = ["--local-crops", "1", "--outputs", "32"] if objective == "self-distilled" else []
    assert main([*without, *options, "--out", str(tmp_path / "alone")]) == 0
    command = [*TORCHRUN, "-m", "vit_course", *without, *options, "--accumulate=3", "--out", "run"]
    code, _, errors = run(*command, cwd=tmp_path)
    assert code == 0, errors
    assert_the_same_run(tmp_path / "run", tmp_path / "alone")
    one, two = (json.loads((tmp_path / name / "result.json").read_text()) for name in ("alone", "run"))
    assert {key: value for key, value in one.items() if "accuracy" in key}.items() <= two.items()


@pytest.mark.thorough
@pytest.mark.parametrize("loss", ["softmax", "sigmoid"])
def test_two_processes_compare_all_captions_of_a_batch(loss, tmp_path, float64):
    # The last batch of 65 has one image: the second process has none, and still compares.
    words = ["train", "--recipe", "clip-scenes", "--num-train=65", "--epochs=2", "--batch-size=32", "--loss", loss]
    words += ["--hidden-dim=32", "--num-heads=2", "--mlp-dim=48", "--num-layers=1", "--precision=float32"]
    assert main([*words, "--out", str(tmp_path / "alone")]) == 0
    code, _, errors = run(*TORCHRUN, "-m", "vit_course", *words, "--out", "run", cwd=tmp_path)
    assert code == 0, errors
    assert_the_same_run(tmp_path / "run", tmp_path / "alone")


@pytest.mark.thorough
def test_the_recipe_rules_whatever_the_launcher_is_told(alone, tmp_path):
    # On CPUs `accelerate launch` starts several processes through MPI alone, so here it starts one.
    launch = ["-m", "accelerate.commands.launch", "--cpu", "--num_processes=1", "--num_machines=1"]
    told = ["--mixed_precision=bf16", "--gradient_accumulation_steps=4", "--dynamo_backend=no"]
    code, _, errors = run(*launch, *told, "-m", "vit_course", *TRAIN, "--out", "run", cwd=tmp_path)
    assert code == 0, errors
    assert_the_same_run(tmp_path / "run", alone)


DIES_WITHIN_AN_EPOCH = """
import os, sys
from vit_course.training import optimisers
from vit_course.__main__ import main
real, steps = optimisers.Stepper.step, []
def step(*arguments):
    steps.append(1)
    if os.environ.get("RANK", "1") == "1" and len(steps) == 8:  # 5 steps an epoch: in the second
        os._exit(9)
    return real(*arguments)
optimisers.Stepper.step = step
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.thorough
def test_more_processes_resume_what_one_began(alone, tmp_path):
    (tmp_path / "script.py").write_text(DIES_WITHIN_AN_EPOCH)
    code, _, _ = run("script.py", *TRAIN, "--out", "run", cwd=tmp_path)
    assert code == 9 and len(rows(tmp_path / "run")) == 1
    code, _, errors = run(*TORCHRUN, "-m", "vit_course", *TRAIN, "--out", "run", "--resume", cwd=tmp_path)
    assert code == 0, errors
    assert_the_same_run(tmp_path / "run", alone)


@pytest.mark.thorough
def test_two_processes_resume_what_two_began(tmp_path):
    # Dropout draws in each process from a generator of its own: their states must come back to the right one.
    command = [*TRAIN, "--dropout", "0.2", "--attention-dropout", "0.1"]
    code, _, errors = run(*TORCHRUN, "-m", "vit_course", *command, "--out", "whole", cwd=tmp_path)
    assert code == 0, errors
    (tmp_path / "script.py").write_text(DIES_WITHIN_AN_EPOCH)
    code, _, errors = run(*TORCHRUN, "script.py", *command, "--out", "cut", cwd=tmp_path)
    assert code != 0 and "exitcode  : 9" in errors and len(rows(tmp_path / "cut")) == 1
    code, _, errors = run(*TORCHRUN, "-m", "vit_course", *command, "--out", "cut", "--resume", cwd=tmp_path)
    assert code == 0, errors
    whole, cut = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("whole", "cut"))
    assert set(whole) == set(cut)
    for name in ("best.safetensors", "last.safetensors", "log.csv", "config.json"):
        assert whole[name] == cut[name], name
    states = load_weights(tmp_path / "cut" / "last.safetensors")[0]["random.dropout"]
    assert len(states) == 2 and not torch.equal(*states), "each process drew numbers of its own"


@pytest.mark.thorough
def test_two_processes_are_refused_as_one(alone, tmp_path):
    code, output, errors = run(*TORCHRUN, "-m", "vit_course", *TRAIN, "--out", alone, cwd=tmp_path)
    assert code != 0 and "epoch 1" not in output
    assert errors.count(f"error: {alone} already holds a run") == 2


SCRIPT = """
import sys, os
from pathlib import Path
from vit_course import data, training
from vit_course.data import pictures, sets
from vit_course.training import processes
from vit_course.config import ViTConfig
from vit_course.vit import ViT

real = pictures.open_image
def noted(path, *options):
    with Path(f"opened-{os.environ.get('RANK', '0')}.txt").open("a") as file:
        file.write(f"{path}\\n")
    return real(path, *options)
dataset = data.folder("images", image_size=(12, 8), on_disk=True)
sets.open_image = noted
data.seed_everything(0)
model = ViT(ViTConfig(image_size=(12, 8), patch_size=4, num_classes=2, hidden_dim=8, num_layers=1, num_heads=2,
                      mlp_dim=8))
recipe = training.TrainingConfig(epochs=1, batch_size=8, padding=2, flip=True)
history = training.train(model, dataset, recipe, "run", progress=False, workers=int(sys.argv[1]))
unreadable = data.unreadable(dataset, processes.engine_for(next(model.parameters()).device))
if os.environ.get("RANK", "0") == "0":
    Path("unreadable.txt").write_text("\\n".join(unreadable))
    Path("train.txt").write_text("\\n".join(sorted(dataset.train.paths)))
    Path("alone.txt").write_text(dataset.validation.paths[1])
"""


@pytest.fixture
def images(tmp_path):
    """61 pictures of two classes, three of them damaged, of which only the second process opens one."""
    folder = write_pictures(tmp_path / "images", 61)
    for name, end in (("class1/03.png", 40), ("class0/30.png", 45)):  # of different lengths, or they would be copies
        (folder / name).write_bytes((folder / name).read_bytes()[:end])
    # Not a training image, which all processes open for the mean.
    alone = Path(data.folder(folder, 8, on_disk=True).validation.paths[1])
    alone.write_bytes(alone.read_bytes()[:50])
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path


def opened(folder):
    return [sorted(path.read_text().split()) for path in sorted(folder.glob("opened-*.txt"))]


@pytest.mark.thorough
def test_two_processes_open_every_image_once_an_epoch(images):
    code, _, errors = run(*TORCHRUN, "script.py", 0, cwd=images)
    assert code == 0, errors
    first, second = opened(images)
    everything = sorted(first + second)
    wanted = sorted(str(path.relative_to(images)) for path in (images / "images").rglob("*.png"))
    train = (images / "train.txt").read_text().split()
    assert set(train) <= set(wanted)
    # Training and validation images, each by one process and once.
    assert len(everything) == len(set(everything)) == 49 + 6 and set(train) <= set(everything)
    assert abs(len(first) - len(second)) <= 8
    found = (images / "unreadable.txt").read_text().split()
    alone = (images / "alone.txt").read_text()
    assert alone in second and alone not in train
    damaged = {alone, "images/class0/30.png", "images/class1/03.png"}
    assert found == sorted(damaged & set(everything)) == (images / "run" / "unreadable.txt").read_text().split()
    two = rows(images / "run")
    (images / "run").rename(images / "two")
    assert run("script.py", 2, cwd=images)[0] == 0  # one process that reads with two workers
    assert two == [pytest.approx(row, abs=1e-9) for row in rows(images / "run")]


APART = """
import os, sys
from pathlib import Path
from vit_course.training import processes
from vit_course.__main__ import main
folder = Path("machine" + os.environ["RANK"])
folder.mkdir()
os.chdir(folder)
processes.PATIENCE_SECONDS = 2.0
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.thorough
def test_a_run_folder_that_not_all_processes_see_is_refused_before_training(tmp_path):
    (tmp_path / "script.py").write_text(APART)
    code, output, errors = run(*TORCHRUN, "script.py", *TRAIN, "--out", "run", cwd=tmp_path)
    assert code != 0 and "epoch 1" not in output
    assert "error: 1 of 2 processes do not see the run folder run that the first one writes to: all of them" in errors
    assert not (tmp_path / "machine0" / "run").exists() and not (tmp_path / "machine1" / "run").exists()


def test_one_process_of_all_and_one_of_each_machine_make_the_data_before_the_others(monkeypatch):
    first = []

    @contextmanager
    def turn(name):
        first.append(name)
        yield
        first.remove(name)

    engine = SimpleNamespace(main_process_first=lambda: turn("all"), local_main_process_first=lambda: turn("machine"))
    monkeypatch.setattr(training_run, "engine_for", lambda device: engine)
    monkeypatch.setattr(training_run.data, "from_recipe", lambda recipe: sys.exit(" ".join(first)))
    with pytest.raises(SystemExit, match="all machine"):
        main(["train"])
