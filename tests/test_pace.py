"""Which tests are quick, in what order files come, and that several test processes compute with one thread each."""

import os
from pathlib import Path
from types import SimpleNamespace

import pace
import pytest
import torch
from conftest import ROOT
from threadpoolctl import threadpool_info

in_a_worker = pytest.mark.skipif(
    "PYTEST_XDIST_WORKER" not in os.environ, reason="one test process alone may take all processors"
)


def test_what_is_slow():
    def item(path="tests/test_a.py", marker="", fixtures=()):
        return SimpleNamespace(path=Path(path), fixturenames=fixtures, get_closest_marker=lambda name: name == marker)

    assert not pace.is_slow(item(fixtures=("seeded",)))
    for slow in (item(marker="slow"), item(marker="thorough"), item(fixtures=("seeded", "browser")), item("0.ipynb")):
        assert pace.is_slow(slow)


def test_every_file_of_the_order_exists():
    paths = [*(ROOT / "tests").glob("test_*.py"), *(ROOT / "notebooks").glob("*.ipynb")]
    assert set(pace.FIRST) <= {path.stem for path in paths} and len(set(pace.FIRST)) == len(pace.FIRST)


def test_the_processors_time_is_added_up_and_has_a_limit():
    plugin = pace.NotebookTimes()
    for seconds in (100.0, 61.0):
        report = SimpleNamespace(
            when="call", nodeid="07.ipynb::Cell 0", user_properties=[("processor_seconds", seconds)]
        )
        plugin.pytest_runtest_logreport(report)
        session = SimpleNamespace(exitstatus=0)
        plugin.pytest_sessionfinish(session, 0)
        assert session.exitstatus == (seconds < 100)


# ---- threads


@in_a_worker
def test_every_library_computes_with_one_thread():
    import numpy as np

    np.ones((300, 300)) @ np.ones((300, 300))
    assert torch.get_num_threads() == 1
    assert {(pool["user_api"], pool["num_threads"]) for pool in threadpool_info()} <= {("openmp", 1), ("blas", 1)}
    assert {os.environ[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")} == {"1"}
