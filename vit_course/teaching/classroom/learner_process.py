"""Starts the sandboxed process in which a submission's cells run, watches its use of resources, and ends it."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

from vit_course.teaching.classroom.sandbox import DEFAULT_LIMITS, FOR_PYTORCH, Limits, Sandbox, SandboxSettings
from vit_course.teaching.classroom.sandbox_environment import import_paths

START_SECONDS = 150.0
MOST_REPLY = 8 * 2**20  # bytes of the outputs of one cell; `run_cells` sends less
BOOT = (
    "import json, sys; settings = json.loads(sys.argv[1]); sys.path[:0] = settings['path']; "
    "from vit_course.teaching.classroom.run_cells import main; main(settings)"
)


class CellEnded(Exception):
    """The process has ended in a cell, by itself or because it exceeded a limit."""


class LearnerProcess:
    """The sandboxed process of a submission: runs cells, and returns their outputs.

    Args:
        folder: of the submission; its code sees a copy of it.
        sandbox: as from `isolation.choose`.
        limits: its resource limits.
        hidden: folders that it must not see, such as the course's.
        until: when it is ended, by the clock of `time.monotonic`; by default after the minutes of the limits.

    Raises:
        RuntimeError: the process does not start; the message is the last line of its log.
        OSError: the sandbox's command is not installed.
    """

    def __init__(
        self,
        folder: Path,
        sandbox: Sandbox,
        limits: Limits = DEFAULT_LIMITS,
        hidden: tuple[Path, ...] = (),
        until: float | None = None,
    ):
        import matplotlib  # here, because nbgrader's other commands read what imports this file

        self.limits, self._sandbox = limits, sandbox
        self._until = time.monotonic() + 60 * limits.minutes if until is None else until
        self._cell_until = self._until
        self._home = Path(tempfile.mkdtemp(prefix="vit-course-"))
        # Besides the submission, matplotlib's list of fonts, which would take seconds to make.
        (fonts := self._home / "fonts").mkdir()
        for path in Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
            shutil.copyfile(path, fonts / path.name)
        self._settings = SandboxSettings(self._home, (Path(folder).resolve(), fonts), limits, hidden)
        self._why = ""  # the watching thread ended the process
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def run(self, source: str, seconds: float) -> tuple[list, int | None]:
        """Runs one cell for at most so many seconds; returns (its outputs, its execution count).

        Raises:
            CellEnded: the process has ended; only `close` may be called.
        """
        self._cell_until = time.monotonic() + seconds
        try:
            self._process.stdin.write(json.dumps(source).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline(MOST_REPLY)
        except OSError:  # nobody reads
            line = b""
        finally:
            self._cell_until = self._until
        if not line:
            raise CellEnded(self._why or "the process ended")
        try:
            reply = json.loads(line)
            return list(reply["outputs"]), reply["count"]
        except (ValueError, KeyError, TypeError, RecursionError):  # the submission's code can write anything
            raise CellEnded("the process sent no outputs") from None

    def close(self) -> None:
        """Ends the process and all processes that it started, and deletes its folder."""
        process = getattr(self, "_process", None)
        if process is not None:
            self._sandbox.end(process, self._settings)
            for stream in (process.stdin, process.stdout, process.stderr):
                with contextlib.suppress(OSError):
                    stream.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def __enter__(self) -> "LearnerProcess":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _start(self) -> None:
        submission, fonts = self._sandbox.readable_inside(self._settings)
        settings = {
            "path": import_paths(self._settings.hidden),
            "home": self._sandbox.home(self._settings),
            "submission": submission,
            "fonts": fonts,
            "limits": self._sandbox.bounds(self.limits),
        }
        command, pipe = [sys.executable, "-I", "-c", BOOT, json.dumps(settings)], subprocess.PIPE
        # A pipe and not a file for its errors: a submission may find it, and could fill a disk.
        self._process = self._sandbox.start(
            command, self._settings, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        at_most = threading.Timer(START_SECONDS, self._sandbox.end, (self._process, self._settings))
        at_most.start()
        line = self._process.stdout.readline(MOST_REPLY)
        at_most.cancel()
        if line != b"ready\n":
            self._sandbox.end(self._process, self._settings)
            lines = os.read(self._process.stderr.fileno(), 2**16).decode(errors="replace").strip().splitlines()
            raise RuntimeError(lines[-1] if lines else "the process ended before it was ready")
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        # The limits of setrlimit hold for single processes; this watches the sum over all of them.
        while self._process.poll() is None:
            most = (self.limits.memory + FOR_PYTORCH) * 2**30
            about = (self._process.pid, self._sandbox.in_memory, self.limits.processes)
            memory, count = _usage(*about)
            if count > self.limits.processes:
                self._why = f"more than the {self.limits.processes} processes allowed were running"
            elif memory > most and _usage(*about, exactly=True)[0] > most:
                self._why = f"more memory than the {self.limits.memory:g} GB allowed was used"
            elif time.monotonic() > self._until:
                self._why = f"more time than the {self.limits.minutes:g} minutes allowed had passed"
            elif time.monotonic() > self._cell_until:
                self._why = "more time than one cell may take had passed"
            if self._why:
                return self._sandbox.end(self._process, self._settings)
            time.sleep(0.2)


def _usage(pid: int, in_memory: tuple[str, ...], most: int, exactly: bool = False) -> tuple[float, int]:
    # The memory in bytes and the number of threads, over all processes. With `exactly`, pages that forked processes
    # share count once, where the system reports it; that is slow, so it is done only where the sum looks too large.
    # Where there are more than `most` processes, only their number.
    memory, count, files = 0.0, 0, {}
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        every = [root, *root.children(recursive=True)]
        if len(every) > most:  # a fork bomb: looking at each would take longer than it takes to grow
            return 0.0, len(every)
        for process in every:
            with contextlib.suppress(psutil.Error):
                count += process.num_threads()
                taken = process.memory_full_info() if exactly else process.memory_info()
                memory += getattr(taken, "pss", taken.rss - getattr(taken, "shared", 0))
            files |= _files_in_memory(process.pid, in_memory)
    return memory + sum(files.values()), count


def _files_in_memory(pid: int, places: tuple[str, ...]) -> dict:
    # The bytes in a process's in-memory file systems, and in the anonymous files (memfd) that it has open.
    found = {}
    for place in places:
        with contextlib.suppress(OSError):
            size = os.statvfs(f"/proc/{pid}/root{place}")
            # Each file, even an empty one, takes about a kilobyte of the kernel's memory.
            taken = (size.f_blocks - size.f_bfree) * size.f_frsize + 1024 * (size.f_files - size.f_ffree)
            found[place] = taken if size.f_blocks < 2**40 else 0  # without a size, as on a host
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if str(Path(entry.path).readlink()).startswith("/memfd:"):
                    size = Path(entry.path).stat()
                    found[size.st_dev, size.st_ino] = size.st_blocks * 512
    return found
