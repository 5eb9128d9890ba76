"""Several processes and their files: each picture opened once, one folder for all, one download a machine."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from PIL import Image
from torchrun import TORCHRUN, TRAIN, rows, run

from vit_course import data

pytestmark = pytest.mark.thorough

SCRIPT = """
import sys, os
from pathlib import Path
from vit_course import data, training
from vit_course.data import pictures, sets
from vit_course.training import processes
from vit_course.config import ViTConfig
from vit_course.vit import ViT

real = pictures.open_image
def noted(path, size=None):
    with Path(f"opened-{os.environ.get('RANK', '0')}.txt").open("a") as file:
        file.write(f"{path}\\n")
    return real(path, size)
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
    for i in range(61):
        path = tmp_path / "images" / f"class{i % 2}" / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.RandomState(i).randint(0, 256, (20, 30, 3), dtype=np.uint8)).save(path)
    for i in (3, 30):
        path = tmp_path / "images" / f"class{i % 2}" / f"{i}.png"
        path.write_bytes(path.read_bytes()[:40])
    # Not a training image, which all processes open for the mean.
    Path(data.folder(tmp_path / "images", 8, on_disk=True).validation.paths[1]).write_bytes(b"")
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path


def opened(folder):
    return [sorted(path.read_text().split()) for path in sorted(folder.glob("opened-*.txt"))]


@pytest.mark.slow
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
    damaged = {alone, "images/class0/30.png", "images/class1/3.png"}
    assert found == sorted(damaged & set(everything)) == (images / "run" / "unreadable.txt").read_text().split()
    two = rows(images / "run")
    (images / "run").rename(images / "two")
    assert run(sys.executable, "script.py", 2, cwd=images)[0] == 0  # one process that reads with two workers
    assert two == [pytest.approx(row, abs=1e-4) for row in rows(images / "run")]


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


@pytest.mark.slow
def test_a_run_folder_that_not_all_processes_see_is_refused_before_training(tmp_path):
    (tmp_path / "script.py").write_text(APART)
    code, output, errors = run(*TORCHRUN, "script.py", *TRAIN, "--out", "run", cwd=tmp_path)
    assert code != 0 and "epoch 1" not in output
    assert "error: 1 of 2 processes do not see the run folder run that the first one writes to: all of them" in errors
    assert not (tmp_path / "machine0" / "run").exists() and not (tmp_path / "machine1" / "run").exists()


TURNS = """
import os, sys, time
from pathlib import Path
from vit_course.__main__ import main
from vit_course.commands import training_run
def downloads(*_):
    began = time.time()
    time.sleep(0.5)
    Path(os.environ["RANK"]).write_text(f"{began} {time.time()}")
training_run.data.from_recipe = downloads
training_run._new_model = lambda *_: sys.exit(0)  # the next step
main(["train"])
"""


@pytest.mark.slow
def test_on_each_machine_one_process_downloads_before_the_others(tmp_path):
    (tmp_path / "script.py").write_text(TURNS)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    world = {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    processes = [
        subprocess.Popen(
            [sys.executable, "script.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "RANK": str(rank), "LOCAL_RANK": str(rank % 2), **world},
        )
        for rank in range(4)  # two of each machine
    ]
    try:
        assert [process.wait(timeout=240) for process in processes] == [0] * 4
    finally:
        for process in processes:
            process.kill()  # nothing, where it has ended
    (_, first), (one, _), (second, second_done), (three, _) = (
        map(float, (tmp_path / str(rank)).read_text().split()) for rank in range(4)
    )
    assert first <= second and second_done <= min(one, three)
