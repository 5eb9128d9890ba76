"""Runs a notebook's code cells with IPython, without a kernel or a terminal, and gathers what they show."""

import base64
import contextlib
import os
import subprocess
import sys

from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from IPython.utils.text import SList
from traitlets.config import Config

from vit_course.teaching.classroom.grading_cell import SHOWN

MOST_SHOWN = 2**20  # characters that one cell prints
MOST_DISPLAYED = 20 * 2**20  # characters of what it displays, such as pictures


class Shell(InteractiveShell):
    """An IPython shell whose `run` returns a cell's outputs."""

    @classmethod
    def make(cls, captured: int) -> "Shell":
        """Makes the shell of this process.

        Args:
            captured: the file descriptor to which child processes write their output.
        """
        config = Config()
        config.HistoryManager.enabled = False
        shell = cls.instance(config=config)
        shell._errors, shell._captured = [], captured
        shell.run_line_magic("matplotlib", "inline")
        shell._callbacks = {name: list(callbacks) for name, callbacks in shell.events.callbacks.items()}
        shell.user_ns.update(exit=_end, quit=_end)
        return shell

    def run(self, source: str) -> list[dict]:
        """Runs one cell and returns its outputs in the notebook format: printed text, displayed data, the error."""
        self._forget_hooks()
        self._errors.clear()
        os.ftruncate(self._captured, 0)
        os.lseek(self._captured, 0, os.SEEK_SET)
        with self.display_trap, capture_output() as captured:  # entered here, or run_cell would replace the capture
            try:
                # store_history counts the cells, so that an error names the cell as Jupyter would.
                self.run_cell(source, store_history=True)
            except BaseException as error:  # not raised by the cell itself, but by a hook or an interrupt
                self._showtraceback(type(error), error, [f"{type(error).__name__}: {error}"])
        outputs, length = [], 0
        for name, text in (("stdout", captured.stdout + self._programs_wrote()), ("stderr", captured.stderr)):
            if len(text) > MOST_SHOWN:
                text = text[:MOST_SHOWN] + "\n... (more is not kept)\n"
            if text:
                outputs.append({"output_type": "stream", "name": name, "text": text})
        for shown in captured.outputs:
            data = {kind: _text(value) for kind, value in shown.data.items() if kind in SHOWN}
            length += sum(map(len, data.values()))
            if length <= MOST_DISPLAYED:
                outputs.append({"output_type": "display_data", "data": data})
        return outputs + self._errors

    def run_line_magic(self, magic_name, line, _stack_depth=1):
        """As IPython's own, but a magic that fails here, such as `%matplotlib widget`, does not end its cell."""
        try:
            return super().run_line_magic(magic_name, line, _stack_depth=_stack_depth + 1)
        except Exception as error:
            print(f"%{magic_name}: {type(error).__name__}: {error}", file=sys.stderr)

    def enable_gui(self, gui=None):
        """Does nothing: this process has no GUI."""

    def system(self, cmd):
        """Runs `!command` through pipes; IPython's own method would open a terminal, and there is none."""
        text, self.user_ns["_exit_code"] = self._run(cmd, depth=1)
        sys.stdout.write(text)

    def getoutput(self, cmd, split=True, depth=0):
        """Runs `lines = !command` and returns its output."""
        text, _ = self._run(cmd, depth + 1)
        return SList(text.splitlines()) if split else text

    def _run(self, cmd: str, depth: int) -> tuple[str, int]:
        # The command may contain variables of the frame that is `depth` levels above the caller.
        cmd = self.var_expand(cmd, depth=depth + 1)
        ran = subprocess.run(cmd, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return ran.stdout.decode(errors="replace"), ran.returncode

    def ask_exit(self):
        """Does nothing: a notebook continues after exit()."""

    def _showtraceback(self, etype, evalue, stb):
        lines, words = list(stb)[:200], str(evalue)[:4000]
        self._errors.append({"output_type": "error", "ename": etype.__name__, "evalue": words, "traceback": lines})

    def _forget_hooks(self) -> None:
        # Removes what a cell has installed to change later cells: source transformers, event callbacks and tracers.
        self.input_transformer_manager = TransformerManager()
        self.input_transformers_post = []
        self.ast_transformers = []
        for name, callbacks in self._callbacks.items():
            self.events.callbacks[name] = list(callbacks)
        sys.settrace(None)
        sys.setprofile(None)

    def _programs_wrote(self) -> str:
        with contextlib.suppress(OSError):
            return os.pread(self._captured, MOST_SHOWN, 0).decode(errors="replace")
        return ""


def _end(*_) -> None:
    raise SystemExit("the notebook continues with the next cell")


def _text(value) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
