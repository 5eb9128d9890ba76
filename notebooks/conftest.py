"""Every notebook runs as a test (nbval, stored outputs compared), without network, in less than a minute."""

import os
from collections import defaultdict
from pathlib import Path

import pytest

OFFLINE = Path(__file__).parents[1] / "tests" / "offline"
LIMIT_SECONDS = 60

_seconds: dict[str, float] = defaultdict(float)


def pytest_configure(config):
    # Kernels are processes of their own and inherit the environment.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(OFFLINE), os.environ.get("PYTHONPATH")]))


def pytest_runtest_logreport(report):
    if ".ipynb" in report.nodeid:
        _seconds[report.nodeid.split("::")[0]] += report.duration


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    if exitstatus == pytest.ExitCode.OK and any(value > LIMIT_SECONDS for value in _seconds.values()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    for name, value in sorted(_seconds.items()):
        late = f"  more than the {LIMIT_SECONDS} s allowed" if value > LIMIT_SECONDS else ""
        terminalreporter.write_line(f"{name}: {value:.0f} s{late}")
