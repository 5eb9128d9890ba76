"""One training at a time in a run folder: a lock with the number and the host of its process."""

import os
import platform
import subprocess
import sys

import pytest
from conftest import ROOT
from torch import nn

from vit_course import data, training
from vit_course.training.run_folder import Lock

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
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "training\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("resume", [False, True])
def test_a_second_training_is_refused_while_the_first_lives(resume, training_process, tmp_path):
    folder = tmp_path / "run"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    owner = f"process {training_process.pid} on host {platform.node()}"
    with pytest.raises(ValueError, match=f"{owner} trains into {folder} at this moment: wait"):
        train(folder, resume=resume)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    training_process.communicate()  # goes on to its end
    assert training_process.returncode == 0 and not (folder / ".lock").exists()
    assert train(folder, resume=True) == train(None)


@pytest.mark.slow
@pytest.mark.parametrize("collected", [True, False])
def test_the_lock_of_a_dead_process_is_free(collected, training_process, tmp_path):
    if not collected and not hasattr(os, "waitid"):
        pytest.skip("there is no way here to wait for an end and not to collect it")
    folder = tmp_path / "run"
    training_process.kill()
    if collected:
        training_process.wait()
    else:
        os.waitid(os.P_PID, training_process.pid, os.WEXITED | os.WNOWAIT)
    assert (folder / ".lock").exists()
    assert train(folder, resume=True) == train(None) and not list(folder.glob(".*"))


def test_a_lock_file_of_nobody_is_no_lock(tmp_path):
    for content in ("", "process 1 on host elsewhere"):
        (tmp_path / ".lock").write_text(content)
        lock = Lock(tmp_path)
        lock.take()
        with pytest.raises(ValueError, match=f"process {os.getpid()} on host .* trains into"):
            Lock(tmp_path).take()
        lock.release()
        assert not list(tmp_path.iterdir())


def test_an_error_gives_the_lock_back(tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training.loop, "evaluate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path / "run")
    assert not (tmp_path / "run").exists(), "nothing was written, and the folder had been made for the run"
    assert len(train(tmp_path / "run")) == 2


def test_a_refused_run_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match=r"gives shape \(16, 4\) for 16 images, and shapes has 5 classes"):
        training.train(nn.Sequential(nn.Flatten(), nn.Linear(288, 4)), DATASET, RECIPE, tmp_path / "run")
    with pytest.raises(ValueError, match=r"there is no checkpoint .*run/last\.safetensors"):
        train(tmp_path / "run", resume=True)
    assert not (tmp_path / "run").exists()
