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

MOST_SHOWN = 20 * 2**20  # characters that one cell prints, or displays


class Shell(InteractiveShell):
    """IPython, of which `run` gives a cell's outputs."""

    @classmethod
    def make(cls, captured: int) -> "Shell":
        """The one of this process.

        Args:
            captured: a file descriptor to which programs that are started write.
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
        """Runs one cell; -> its outputs as a notebook file has them: what it printed, what it displayed, its error."""
        self._forget_hooks()
        self._errors.clear()
        os.ftruncate(self._captured, 0)
        os.lseek(self._captured, 0, os.SEEK_SET)
        with self.display_trap, capture_output() as captured:  # the trap first, or the cell would set its own
            try:
                # store_history counts the cells, so that an error names the cell as Jupyter would.
                self.run_cell(source, store_history=True)
            except BaseException as error:  # not the cell's own: that of a hook, or an interrupt
                self._showtraceback(type(error), error, [f"{type(error).__name__}: {error}"])
        outputs, length = [], 0
        for name, text in (("stdout", captured.stdout + self._programs_wrote()), ("stderr", captured.stderr)):
            if len(text) > MOST_SHOWN:
                text = text[:MOST_SHOWN] + "\n... (more is not kept)\n"
            if text:
                outputs.append({"output_type": "stream", "name": name, "text": text})
        for shown in captured.outputs:
            data = {kind: _text(value) for kind, value in shown.data.items()}
            length += sum(len(value) for value in data.values() if isinstance(value, str))
            if length <= MOST_SHOWN:
                outputs.append({"output_type": "display_data", "data": data, "metadata": shown.metadata or {}})
        return outputs + self._errors

    def enable_gui(self, gui=None):
        """There is none."""

    def system(self, cmd):
        """`!command`, by pipes: IPython would open a terminal, and there is none to open."""
        text, self.user_ns["_exit_code"] = self._run(cmd, depth=1)
        sys.stdout.write(text)

    def getoutput(self, cmd, split=True, depth=0):
        """`lines = !command`."""
        text, _ = self._run(cmd, depth + 1)
        return SList(text.splitlines()) if split else text

    def _run(self, cmd: str, depth: int) -> tuple[str, int]:
        # The command may name what stands `depth` frames above the caller.
        cmd = self.var_expand(cmd, depth=depth + 1)
        ran = subprocess.run(cmd, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return ran.stdout.decode(errors="replace"), ran.returncode

    def ask_exit(self):
        """A notebook goes on."""

    def _showtraceback(self, etype, evalue, stb):
        lines, words = list(stb)[:200], str(evalue)[:4000]
        self._errors.append({"output_type": "error", "ename": etype.__name__, "evalue": words, "traceback": lines})

    def _forget_hooks(self) -> None:
        # What one cell sets up for the source of the next ones, or for their running, ends with it.
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


def _text(value):
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
