"""How long tests take: which are quick, which files come first, and how much of a processor each notebook needs."""

import os
import re
from collections import defaultdict
from pathlib import Path

import psutil
import pytest
from in_jupyterlab import Replayed
from nbval.plugin import IPyNbCell

ROOT = Path(__file__).parents[1]
# Two workers take a file each, and the last one should not be long: these come first, the longest before all.
FIRST = ("00_start_here", "test_answers", "test_site", "test_classroom", "07_training", "09_what_maps_tell",
         "10_pretrained", "05_encoder", "11_without_labels", "test_wheel", "test_mutants", "03_position_embeddings",
         "02_class_token", "test_explorer_browser", "test_distributed", "08_attention_maps", "14_several_processes",
         "06_vit", "test_checks", "test_killed", "test_live_browser", "test_site_browser", "04_attention")  # fmt: skip
# Who asks for one of these waits for a browser, a server, a class of learners or a whole site.
SLOW_FIXTURES = frozenset({"browser", "site", "course", "tested", "kit"})
# A line of a file of which no test is quick.
ALL_SLOW = re.compile(r"^pytestmark = pytest\.mark\.(slow|thorough)$", re.MULTILINE)


def pytest_ignore_collect(collection_path, config):
    # To read the notebooks, or to import what slow files need, takes seconds, and none of these is quick.
    if config.option.markexpr != "quick":
        return None
    if collection_path.suffix == ".ipynb":
        return True
    is_test = collection_path.suffix == ".py" and collection_path.is_file()
    return True if is_test and ALL_SLOW.search(collection_path.read_text(encoding="utf-8")) else None


@pytest.hookimpl(tryfirst=True)  # before the unmarked are left out
def pytest_collection_modifyitems(config, items):
    if not config.option.thorough:
        late = [item for item in items if item.get_closest_marker("thorough")]
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=late)
    for item in items:
        if not is_slow(item):
            item.add_marker("quick")
        if "browser" in getattr(item, "fixturenames", ()):  # a cell has none
            item.add_marker("browser")
    places = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


def is_slow(item) -> bool:
    """Whether a test is a notebook's cell, is marked slow or thorough, or asks for what takes long to make."""
    if item.path.suffix == ".ipynb" or item.get_closest_marker("slow") or item.get_closest_marker("thorough"):
        return True
    return not SLOW_FIXTURES.isdisjoint(item.fixturenames)


class NotebookTimes:
    """Prints the seconds of a processor that each notebook takes, and its longest cell; none fails for being slow."""

    def __init__(self):
        self.seconds: dict[str, list[float]] = defaultdict(list)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        if not isinstance(item, IPyNbCell):
            return (yield)
        before = processor_seconds(item.parent.kernel)
        try:
            return (yield)
        finally:
            item.user_properties.append(("processor_seconds", processor_seconds(item.parent.kernel) - before))

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and (taken := dict(report.user_properties).get("processor_seconds")):
            self.seconds[report.nodeid.split("::")[0]].append(taken)

    def pytest_terminal_summary(self, terminalreporter):
        for name, cells in sorted(self.seconds.items()):
            terminalreporter.write_line(f"{name}: {sum(cells):.0f} s of a processor, {max(cells):.0f} in one cell")


def processor_seconds(kernel) -> float:
    """What a notebook's kernel and the processes it has started took so far; 0 where it has ended."""
    if isinstance(kernel, Replayed):  # all cells at once, before the first is compared
        return 0.0 if kernel.place < 0 else kernel.seconds
    try:
        process = psutil.Process(kernel.km.provisioner.pid)
        return sum(sum(one.cpu_times()[:4]) for one in (process, *process.children(recursive=True)))
    except (psutil.Error, AttributeError):
        return 0.0


def one_thread_each() -> None:
    """Lets each of several test processes, and all that they start, compute with one thread, if nothing else is set."""
    # Two of two threads on two cores wait for one another most of the time: chapter 00's second cell then took 31 s.
    if "PYTEST_XDIST_WORKER" in os.environ:
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.setdefault(name, "1")
