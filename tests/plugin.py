"""The plugin for every run of pytest: no network, and notebooks are compared by what a reader sees.

pyproject.toml names it as a plugin, because a run of notebooks alone would not load a conftest.py beside the tests.
"""

import os
import sys
from pathlib import Path

# nbformat imports it for international addresses, which no notebook has; the import takes three seconds.
sys.modules.setdefault("rfc3987_syntax", None)

import tiers  # noqa: E402, it imports nbval, and that nbformat

tiers.one_thread_each()
ROOT = Path(__file__).parents[1]


def pytest_addoption(parser):
    parser.addoption("--thorough", action="store_true", help="also run what takes too long for every day")


def pytest_configure(config):
    # Kernels are processes of their own and inherit the environment.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "tests" / "offline"), os.getenv("PYTHONPATH")]))
    os.environ.setdefault("VIT_COURSE_FUZZ", "1" if config.option.thorough else "0.25")
    os.environ["VIT_COURSE_PROGRESS"] = "off"  # no test writes into somebody's progress
    os.environ["VIT_COURSE_PANELS"] = "off"  # the chapters store verdicts as text
    import figures  # which imports NumPy
    import in_jupyterlab
    import spread
    import tolerances

    for plugin in (tolerances, figures, in_jupyterlab, tiers, tiers.NotebookTimes(), spread):
        config.pluginmanager.register(plugin)
