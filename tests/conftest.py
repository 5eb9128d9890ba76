"""What several test files share, and the rules for notebooks: no network, less than a minute each."""

import os
from collections import defaultdict
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]
LIMIT_SECONDS = 60

_seconds: dict[str, float] = defaultdict(float)


def pytest_configure(config):
    # Kernels are processes of their own and inherit the environment.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "tests" / "offline"), os.getenv("PYTHONPATH")]))


def pytest_runtest_logreport(report):
    if ".ipynb::" in report.nodeid:
        _seconds[report.nodeid.split("::")[0]] += report.duration


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    if exitstatus == pytest.ExitCode.OK and any(value > LIMIT_SECONDS for value in _seconds.values()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    for name, value in sorted(_seconds.items()):
        late = f"  MORE THAN THE {LIMIT_SECONDS} s ALLOWED" if value > LIMIT_SECONDS else ""
        terminalreporter.write_line(f"{name}: {value:.0f} s{late}")


@pytest.fixture(autouse=True)
def seeded():
    """Every test starts from the same random state."""
    torch.manual_seed(0)


@pytest.fixture
def odd_images():
    """(2, 3, 8, 12): every size different, so that no transposition slips through."""
    return torch.randn(2, 3, 8, 12)
