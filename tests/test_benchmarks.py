"""The benchmark scripts run, and every row is there. No time is asserted: a busy machine has no say here."""

import os
import re
from types import SimpleNamespace

import pytest
import torch
from conftest import ROOT, python

from vit_course.explorables.gallery import ABOUT

FOLDER = ROOT / "tests" / "benchmarks"


def run(script: str, *arguments: str) -> str:
    done = python(FOLDER / script, *arguments, PYTHONPATH=os.pathsep.join([str(ROOT), os.environ["PYTHONPATH"]]))
    assert done.returncode == 0, done.stderr
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
def test_tables_have_a_row_for_every_contender_and_every_way(contenders):
    quick = ["--rounds", "2", "--warmup", "0", "--threads", "1", "--batch", "2"]
    training, inference = run("speed.py", *quick).split("inference, batch 2")
    assert "tiny-cifar, 119,194 parameters" in training and f"1 threads, torch {torch.__version__}" in training
    for part in (training, inference):
        table = rows(part)
        assert set(table) == {f"{name} {p}" for name in contenders.CONTENDERS for p in ("float32", "bfloat16")}
        assert table["timm float32"][:3] == [1, 1, 1]
        for speed, low, high, milliseconds in table.values():
            assert 0 < low <= speed <= high and milliseconds > 0
    text = run("recording.py", *quick)
    assert set(rows(text)) == {"plain forward", "all maps recorded", "recorded and stacked"}
    assert re.findall(r"^(\w+), tiny-cifar, batch 2 ", text, re.MULTILINE) == ["ours", "timm"]
    assert len(re.findall(r"^recording takes \d\.\d\d times as long$", text, re.MULTILINE)) == 2


@pytest.mark.thorough
def test_the_pointer_is_timed_at_each_size(browser):
    # `browser` says that there is one, and that this is slow.
    line = (
        r"^(\d+) tokens: median [\d.]+ ms, 95th percentile [\d.]+ ms, [\d.]+ and [\d.]+ times the empty page, 3 moves$"
    )
    assert re.findall(line, run("pointer.py", "--size", "28", "42", "--moves", "3"), re.MULTILINE) == ["5", "10"]


@pytest.mark.thorough
def test_each_explorable_is_timed_alone_and_among_all(browser):
    text = run("play.py", "--moves", "4", "--rounds", "2", "--seconds", "0.1")
    times = r"median [\d.]+ ms, 95th percentile [\d.]+ ms"
    alone = rf"^(\w+): {times}; empty page: {times}; [\d.]+ times, -?[\d.]+ ms more at the 95th$"
    assert re.findall(alone, text, re.MULTILINE) == [*ABOUT]
    pictures = r"[\d.]+ pictures a second, \d+ of \d+ late"
    among = rf"^(\w+) among {len(ABOUT)}: {pictures}; empty page: {pictures}$"
    assert re.findall(among, text, re.MULTILINE) == [*ABOUT]


def test_each_contender_once_a_round_in_changing_order_and_ratios_round_by_round(contenders):
    calls, arguments = [], SimpleNamespace(rounds=6, warmup=2, device="cpu")
    seconds = contenders.take_turns({name: lambda n=name: calls.append(n) for name in "abcd"}, arguments)
    orders = ["".join(calls[i : i + 4]) for i in range(0, len(calls), 4)]
    assert len(orders) == 8 and all(sorted(order) == list("abcd") for order in orders) and len(set(orders)) > 2
    assert {name: len(values) for name, values in seconds.items()} == dict.fromkeys("abcd", 6)
    # The machine is ten times slower in the second round, for both alike; the ratio does not see it.
    text = contenders.table({"timm": [1.0, 10.0, 1.0], "twice": [0.5, 5.0, 0.5]}, "timm", "step")
    assert rows(text) == {"timm": [1, 1, 1, 1000], "twice": [2, 2, 2, 500]}
