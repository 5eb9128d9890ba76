"""Which tests are quick, in what order files come, and that several test processes compute with one thread each."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pace
import pytest
import torch
from conftest import ROOT, cases
from threadpoolctl import threadpool_info

in_a_worker = pytest.mark.skipif(
    "PYTEST_XDIST_WORKER" not in os.environ, reason="one test process alone may take all processors"
)
THREADS = "import torch; print('threads', torch.get_num_threads())"


class Item:
    """As much of a test as the plugin looks at."""

    def __init__(self, path, name, fixtures=(), slow=False):
        self.path, self.originalname, self.nodeid = Path(path), name, f"{path}::{name}"
        self.fixturenames, self.slow, self.marks = fixtures, slow, []

    def get_closest_marker(self, name):
        return name == "slow" and self.slow

    def add_marker(self, name):
        self.marks.append(name)


CONFIG = SimpleNamespace(option=SimpleNamespace(thorough=True))


def quick_ones(items):
    pace.pytest_collection_modifyitems(CONFIG, items)
    return [item.nodeid for item in items if item.marks == ["quick"]]


def test_what_is_quick():
    plain = Item("tests/test_a.py", "test_plain")
    items = [
        plain,
        Item("tests/test_a.py", "test_marked", slow=True),
        Item("tests/test_a.py", "test_in_a_browser", fixtures=("seeded", "browser")),
        Item("notebooks/00_start_here.ipynb", "Cell 0"),
    ]
    assert quick_ones(items) == [plain.nodeid]


def test_long_files_come_first_and_the_order_within_a_file_stays():
    names = ["tests/test_a.py", "notebooks/07_training.ipynb", "tests/test_site.py"]
    items = [Item(path, f"test_{i}") for path in names for i in range(2)]
    pace.pytest_collection_modifyitems(CONFIG, items)
    assert [(item.path.stem, item.originalname) for item in items] == [
        (stem, f"test_{i}") for stem in ("test_site", "07_training", "test_a") for i in range(2)
    ]


def test_every_file_of_the_order_exists():
    paths = [*(ROOT / "tests").glob("test_*.py"), *(ROOT / "notebooks").glob("*.ipynb")]
    assert set(pace.FIRST) <= {path.stem for path in paths} and len(set(pace.FIRST)) == len(pace.FIRST)


@cases(("used", "status"), [(None, 0), ("vit_course.vit", 1)])
def test_a_module_that_no_quick_test_uses_fails_the_run(capsys, used, status):
    option = SimpleNamespace(markexpr="quick", keyword="", collectonly=False)
    config = SimpleNamespace(option=option, args=["tests"], getini=lambda name: ["tests"])
    session = SimpleNamespace(config=config, exitstatus=0)
    plugin = pace.QuickCovers()
    plugin.pytest_testnodedown(SimpleNamespace(workeroutput={"modules": pace.all_modules() - {used}}))
    loaded = sys.modules.pop(used, None)
    plugin.pytest_sessionfinish(session, 0)
    if loaded:
        sys.modules[used] = loaded
    assert session.exitstatus == status
    assert capsys.readouterr().out == (f"\nno quick test uses {used}\n" if used else "")
    assert {"vit_course", "vit_course.vit", "vit_course.explorer.widget"} <= pace.all_modules()


def test_the_processors_time_of_a_kernel():
    process = subprocess.Popen([sys.executable, "-c", "for _ in range(10**7): pass\ninput()"], stdin=subprocess.PIPE)
    kernel = SimpleNamespace(km=SimpleNamespace(provisioner=process))
    before = 0.0
    while pace.processor_seconds(kernel) < 0.1:
        assert process.poll() is None
    process.communicate(b"\n")
    assert before == pace.processor_seconds(kernel), "it has ended"


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


def test_a_single_test_process_keeps_what_it_was_given(monkeypatch):
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    pace.one_thread_each()
    assert os.environ["OMP_NUM_THREADS"] == "7"


@in_a_worker
@pytest.mark.slow
def test_a_kernel_computes_with_one_thread():
    from jupyter_client.manager import run_kernel

    said = []
    with run_kernel() as client:
        client.execute_interactive(THREADS, timeout=120, output_hook=lambda message: said.append(message["content"]))
    assert [content["text"] for content in said if "text" in content] == ["threads 1\n"]


@in_a_worker
@pytest.mark.thorough
def test_the_processes_of_torchrun_compute_with_one_thread(tmp_path):
    (tmp_path / "threads.py").write_text(THREADS)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "threads.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True)
    assert re.findall(r"threads (\d+)", done.stdout) == ["1", "1"]
