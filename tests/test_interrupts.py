"""Ctrl+C at any moment of a command: one line, exit code 130, and nothing swallowed."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT, hears_interrupts, thoroughly

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows sends no signal to one process")
# Presses Ctrl+C while a module is looked for, as often as it is.
AT_AN_IMPORT = """
import runpy, signal, sys
wanted = sys.argv.pop(1)
class Presses:
    def find_spec(name, path=None, target=None):
        if name == wanted:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Presses)
runpy.run_module("vit_course", run_name="__main__", alter_sys=True)
"""
IN_A_COMMAND = """
import atexit, signal, sys
from vit_course.__main__ import main
from vit_course.commands import check
def press():
    signal.raise_signal(signal.SIGINT)
def run(options):
    {}
    return 0
check.run = run
sys.argv = ["vit_course", "check"]
sys.exit(main())
"""


def stopped(code: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False,
        cwd=ROOT, timeout=1800, preexec_fn=hears_interrupts,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nstopped\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        "vit_course.commands.program",
        "torch._C",
        *thoroughly(
            "vit_course.commands.interrupts",
            "argparse",
            "vit_course._support.inputs.rules",
            "torch",
            "torch.nn.functional",
            "numpy",
            "numpy.linalg",
            "PIL.Image",
            "vit_course.pretrained",
        ),
    ],
)
def test_while_something_is_imported(module):
    stopped(AT_AN_IMPORT, module, "classify", "res/photographs/cat.jpg")


@pytest.mark.slow
@pytest.mark.parametrize(
    "lines",
    [
        "press()",
        "exec('try: press()\\nexcept BaseException: pass')",
        "exec('try: press()\\nexcept BaseException as error: raise RuntimeError from error')",
        "exec('try: press()\\nfinally: press()')",
        "type('', (), {'__del__': lambda self: press()})(); print('it goes on')",
        "atexit.register(press)",
    ],
)
def test_while_a_command_runs(lines):
    stopped(IN_A_COMMAND.format(lines))


def test_a_process_that_is_to_ignore_it_ignores_it():
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + IN_A_COMMAND.format("press()")
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
