"""What holds in every run of pytest, whatever it is given to test: no network, and notebooks compared as they are seen.

pyproject.toml names it as a plugin: of a conftest.py beside the tests, a run of nothing but a notebook would not hear.
"""

import os
import sys
from pathlib import Path

# nbformat brings it along to check international addresses, which no notebook has; to import it takes three seconds.
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
