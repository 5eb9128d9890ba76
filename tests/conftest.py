"""What several test files share, and the rules for notebooks: no network, about a minute each."""

import os
from collections import defaultdict
from pathlib import Path

# Before torch is imported: two processes of two threads each on two cores wait for one another most of the time.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["OMP_NUM_THREADS"] = "1"

import pytest
import torch

ROOT = Path(__file__).parents[1]
# A minute on two quiet cores. What else runs on the machine, here a second test process, can take most of it away, so
# only a multiple of it fails the run.
LIMIT_SECONDS = 60


def pytest_configure(config):
    # Kernels are processes of their own and inherit the environment.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "tests" / "offline"), os.getenv("PYTHONPATH")]))
    os.environ["VIT_COURSE_PROGRESS"] = "off"  # no test writes into somebody's progress
    config.pluginmanager.register(NotebookTimes())


class NotebookTimes:
    """Adds up the seconds of each notebook. A plugin, because the hooks of this file see the tests beside it alone."""

    def __init__(self):
        self.seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report):
        if ".ipynb::" in report.nodeid:
            self.seconds[report.nodeid.split("::")[0]] += report.duration

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session, exitstatus):
        if exitstatus == pytest.ExitCode.OK and any(value > 4 * LIMIT_SECONDS for value in self.seconds.values()):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        for name, value in sorted(self.seconds.items()):
            late = f"  more than {LIMIT_SECONDS} s" if value > LIMIT_SECONDS else ""
            terminalreporter.write_line(f"{name}: {value:.0f} s{late}")


@pytest.fixture(autouse=True)
def seeded():
    """Every test starts from the same random state."""
    torch.manual_seed(0)


@pytest.fixture
def odd_images():
    """(2, 3, 8, 12): every size different, so that no transposition slips through."""
    return torch.randn(2, 3, 8, 12)


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium, shared by all browser tests."""
    from lab import BROWSER_FLAGS, chromium
    from playwright.sync_api import sync_playwright

    assert chromium(), "CI needs Chromium: .ci/run installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)
        yield browser
        browser.close()
