"""Runs a notebook's code cells as Jupyter would, without a kernel, and gathers what they show."""

import base64
import contextlib
import io
import os
import subprocess
import sys

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.text import SList
from traitlets import Type
from traitlets.config import Config

MOST_SHOWN = 20 * 2**20  # characters of one cell's outputs


class Outputs:
    """The outputs of one cell, in the form of a notebook file."""

    def __init__(self):
        self.clear()

    def clear(self) -> None:
        """As `clear_output` does."""
        self.found, self._length = [], 0

    def stream(self, name: str, text: str) -> None:
        """More of what was printed."""
        if not self._fits(len(text)):
            return
        if self.found and self.found[-1].get("name") == name:
            self.found[-1]["text"] += text
        else:
            self.found.append({"output_type": "stream", "name": name, "text": text})

    def show(self, data: dict, metadata: dict | None, result: int | None = None) -> None:
        """Something displayed; `result` is the number of the cell whose last line it is."""
        data = {kind: _text(value) for kind, value in (data or {}).items()}
        if not self._fits(sum(len(value) for value in data.values() if isinstance(value, str))):
            return
        kind = {"output_type": "display_data"}
        if result is not None:
            kind = {"output_type": "execute_result", "execution_count": result}
        self.found.append({**kind, "data": data, "metadata": metadata or {}})

    def error(self, name: str, value: str, lines: list[str]) -> None:
        """An exception and its traceback."""
        self.found.append({"output_type": "error", "ename": name, "evalue": value[:4000], "traceback": lines[:200]})

    def _fits(self, length: int) -> bool:
        self._length += length
        if self._length - length <= MOST_SHOWN < self._length:
            self.found.append({"output_type": "stream", "name": "stdout", "text": "\n... (more is not kept)\n"})
        return self._length <= MOST_SHOWN


class _Stream(io.TextIOBase):
    encoding, errors = "utf-8", "replace"

    def __init__(self, shell, name: str, number: int):
        self._shell, self.name, self._number = shell, name, number

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._shell.outputs.stream(self.name, text)
        return len(text)

    def close(self) -> None:
        """Never: the next cell prints too."""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._number


class _Publisher(DisplayPublisher):
    def publish(self, data, metadata=None, **options):
        self.shell.outputs.show(data, metadata)

    def clear_output(self, wait=False):
        self.shell.outputs.clear()


class _Hook(DisplayHook):
    def write_output_prompt(self):
        pass

    def write_format_data(self, format_dict, md_dict=None):
        self.shell.outputs.show(format_dict, md_dict, self.prompt_count)

    def finish_displayhook(self):
        pass


class Shell(InteractiveShell):
    """IPython without a terminal and without a kernel. `run` gives a cell's outputs."""

    display_pub_class = Type(_Publisher)
    displayhook_class = Type(_Hook)

    @classmethod
    def make(cls, captured: int) -> "Shell":
        """The one of this process.

        Args:
            captured: a file descriptor to which programs that are started write.
        """
        config = Config()
        config.HistoryManager.enabled = False
        shell = cls.instance(config=config)
        shell.outputs, shell._captured = Outputs(), captured
        sys.stdout, sys.stderr = _Stream(shell, "stdout", captured), _Stream(shell, "stderr", captured)
        shell.run_line_magic("matplotlib", "inline")
        shell._callbacks = {name: list(callbacks) for name, callbacks in shell.events.callbacks.items()}
        shell.user_ns.update(exit=_end, quit=_end)
        return shell

    def run(self, source: str) -> list[dict]:
        """Runs one cell; -> its outputs."""
        self._forget_hooks()
        self.outputs.clear()
        os.ftruncate(self._captured, 0)
        os.lseek(self._captured, 0, os.SEEK_SET)
        try:
            # store_history counts the cells, so that an error names the cell as Jupyter would.
            self.run_cell(source, store_history=True)
        except BaseException as error:  # not the cell's own, which run_cell shows: that of a hook, or an interrupt
            self.outputs.error(type(error).__name__, str(error), [f"{type(error).__name__}: {error}"])
        self._programs_wrote()
        return self.outputs.found

    def enable_gui(self, gui=None):
        """There is none."""

    def system(self, cmd):
        """`!command`, by pipes: IPython would open a terminal, and there is none to open."""
        text, self.user_ns["_exit_code"] = self._run(cmd, depth=1)
        self.outputs.stream("stdout", text)

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
        self.outputs.error(etype.__name__, str(evalue), list(stb))

    def _forget_hooks(self) -> None:
        # What one cell sets up for the source of the next ones, or for their running, ends with it.
        self.input_transformer_manager = TransformerManager()
        self.input_transformers_post = []
        self.ast_transformers = []
        for name, callbacks in self._callbacks.items():
            self.events.callbacks[name] = list(callbacks)
        sys.settrace(None)
        sys.setprofile(None)

    def _programs_wrote(self) -> None:
        with contextlib.suppress(OSError):
            text = os.pread(self._captured, MOST_SHOWN, 0).decode(errors="replace")
            if text:
                self.outputs.stream("stdout", text)


def _end(*_) -> None:
    raise SystemExit("the notebook continues with the next cell")


def _text(value):
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
