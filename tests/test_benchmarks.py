"""The benchmark scripts run, and every row is there. No time is asserted: a busy machine has no say here."""

import os
import re
import subprocess
import sys

import pytest
import torch
from conftest import ROOT

from vit_course.config import ViTConfig
from vit_course.vit import ViT

FOLDER = ROOT / "tests" / "benchmarks"


def run(script: str, *arguments: str) -> str:
    path = os.pathsep.join(filter(None, [str(ROOT), os.getenv("PYTHONPATH")]))
    command = [sys.executable, FOLDER / script, "--rounds", "2", "--warmup", "0", "--threads", "1", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    assert str(ROOT) not in done.stdout, "no path of this machine"
    assert "1 threads" in done.stdout and torch.__version__ in done.stdout and "bfloat16 instructions" in done.stdout
    return done.stdout


def rows(text: str) -> dict[str, list[float]]:
    """-> the numbers of each row of a table: speed, quartiles, milliseconds."""
    number = r"([\d.]+)"
    found = re.findall(rf"^(.+?) +{number} +{number} to {number} +{number}$", text, re.MULTILINE)
    return {name: [float(value) for value in values] for name, *values in found}


@pytest.fixture
def contenders(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import contenders

    return contenders


@pytest.mark.thorough
def test_speed_has_a_row_for_every_contender_and_precision(contenders):
    text = run("speed.py", "--batch", "2")
    training, inference = text.split("inference, batch 2")
    assert "tiny-cifar, 119,194 parameters" in training and "training, batch 2" in training
    expected = {f"{name} {p}" for name in contenders.CONTENDERS for p in ("float32", "bfloat16")}
    for part in (training, inference):
        table = rows(part)
        assert set(table) == expected
        assert table["timm float32"][:3] == [1, 1, 1]
        for speed, low, high, milliseconds in table.values():
            assert 0 < low <= speed <= high and milliseconds > 0


@pytest.mark.thorough
def test_the_pointer_is_timed_at_each_size(browser):
    # `browser` says that there is one, and that this is slow.
    path = os.pathsep.join(filter(None, [str(ROOT), os.getenv("PYTHONPATH")]))
    command = [sys.executable, FOLDER / "pointer.py", "--size", "28", "42", "--moves", "3"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    found = re.findall(
        r"^(\d+) tokens: median [\d.]+ ms, 95th percentile [\d.]+ ms, 3 moves$", done.stdout, re.MULTILINE
    )
    assert found == ["5", "10"]


@pytest.mark.thorough
def test_recording_has_its_rows_and_the_memory_of_both():
    text = run("recording.py", "--batch", "2", "--side", "3")
    assert set(rows(text)) == {"plain forward", "all maps recorded", "recorded and stacked"}
    assert re.findall(r"^(\w+), tiny-cifar, batch 2 ", text, re.MULTILINE) == ["ours", "timm"]
    assert len(re.findall(r"^recording takes \d\.\d\d times as long$", text, re.MULTILINE)) == 2
    assert "9 patches" in text
    memory = dict(re.findall(r"^(ours|torchvision) +(\d+) +\d+$", text, re.MULTILINE))
    assert set(memory) == {"ours", "torchvision"}
    assert all(int(peak) > 50 for peak in memory.values()), "megabytes of a process that has loaded torch"


def test_each_contender_once_a_round_and_the_order_changes(contenders):
    calls = []
    seconds = contenders.take_turns({name: lambda n=name: calls.append(n) for name in "abcd"}, 6, 2, "cpu", "cpu")
    orders = ["".join(calls[i : i + 4]) for i in range(0, len(calls), 4)]
    assert len(orders) == 8 and all(sorted(order) == list("abcd") for order in orders) and len(set(orders)) > 2
    assert {name: len(values) for name, values in seconds.items()} == dict.fromkeys("abcd", 6)


def test_ratios_are_taken_round_by_round(contenders):
    # The machine is ten times slower in the second round, for both alike; the ratio does not see it.
    text = contenders.table({"timm": [1.0, 10.0, 1.0], "twice": [0.5, 5.0, 0.5]}, "timm", "step")
    assert rows(text) == {"timm": [1, 1, 1, 1000], "twice": [2, 2, 2, 500]}


def test_another_model_takes_no_part(contenders, monkeypatch):
    config = ViTConfig.preset("tiny-cifar")
    larger = ViTConfig.preset("tiny-cifar", mlp_dim=200)
    monkeypatch.setitem(contenders.CONTENDERS, "torchvision", lambda _: ViT(larger))
    with pytest.raises(ValueError, match="torchvision has 122,298 parameters, ours has 119,194"):
        contenders.build("torchvision", config)
    with pytest.raises(ValueError, match="unknown contender 'keras'"):
        contenders.build("keras", config)


def test_nonsense_takes_no_part(contenders):
    contenders.checked("x", torch.zeros(2, 3), (2, 3))
    with pytest.raises(ValueError, match=r"x gave shape \(2, 3\) where \(3, 2\) was due"):
        contenders.checked("x", torch.zeros(2, 3), (3, 2))
    with pytest.raises(ValueError, match="not finite"):
        contenders.checked("x", torch.tensor([[float("nan")]]), (1, 1))


@pytest.mark.thorough
def test_reading_has_a_row_for_each_number_of_workers():
    text = run("reading.py", "--pictures", "12", "--workers", "0", "1")
    names = {"disk, 0 workers", "disk, 1 workers", "memory"}
    assert set(rows(text)) == names and "10 images of 224 x 224" in text
    assert set(re.findall(r"^(.+): \d+ images a second$", text, re.MULTILINE)) == names
