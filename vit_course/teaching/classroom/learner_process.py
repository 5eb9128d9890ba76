"""Starts the process in which a learner's code runs, watches its use of resources, and ends it."""

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

import matplotlib
import psutil

from vit_course._support.files.course_files import PACKAGE
from vit_course.teaching.classroom.apart.channel import GradingEnd
from vit_course.teaching.classroom.apart.proxies import ObjectUnpacker
from vit_course.teaching.classroom.apart.rpc import Session
from vit_course.teaching.classroom.apart.serialization import Unpacker, WireError
from vit_course.teaching.classroom.sandbox import USUAL, Limits, Room, Unprotected
from vit_course.teaching.classroom.sandbox_environment import libraries

START_SECONDS = 120.0
BOOT = (
    "import json, sys; settings = json.loads(sys.argv[1]); sys.path[:0] = settings['path']; "
    "from vit_course.teaching.classroom.apart.learner import main; main(settings)"
)


class Ended(SystemExit):
    """The learner's process has ended, by itself or because it exceeded a limit."""


Ended.__name__ = "SystemExit"  # the name that a learner sees in the notebook's outputs


class LearnerProcess:
    """A learner's process: runs cells, and returns the objects that they define as proxies for the checks.

    Args:
        folder: of the submission; its code sees a copy of it.
        isolation: the sandbox, as from `isolation.choose`.
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
        isolation: Unprotected,
        limits: Limits = USUAL,
        hidden: tuple[Path, ...] = (),
        until: float | None = None,
    ):
        self.limits, self._isolation = limits, isolation
        self._until = time.monotonic() + 60 * limits.minutes if until is None else until
        self._home = Path(tempfile.mkdtemp(prefix="vit-course-"))
        # Besides the submission, matplotlib's cache of the teacher: building a new list of fonts takes seconds.
        given = (Path(folder).resolve(), Path(matplotlib.get_cachedir()).resolve())
        self._room = Room(self._home, given, limits, hidden)
        self._why: BaseException | None = None  # the process was ended
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def run(self, source: str, seconds: float) -> tuple[list, int]:
        """Runs one cell for at most so many seconds; returns (its outputs, its execution count).

        Raises:
            TimeoutError: it did not end in time; the process cannot be used any more.
            MemoryError, Ended: the process has ended.
        """
        try:
            reply = self._ask({"op": "cell", "source": source}, seconds)
            outputs, count = Unpacker().unpack(reply["outputs"]), reply["count"]
            if type(outputs) is not list or type(count) is not int or not 0 <= count < 2**31:
                raise ValueError("not outputs, or not a number of cells")
            return outputs, count
        except (RuntimeError, KeyError, TypeError, ValueError, WireError):  # the learner's code can send anything
            self._channel.broken = True
            raise Ended("the process sent no outputs") from None

    def answer(self, name: str):
        """The object that the notebook has under a name, ready for a check; None where the name is not defined.

        Raises:
            RuntimeError, WireError: the object cannot be sent.
            TimeoutError, MemoryError, Ended: as of `run`.
        """
        self.session.reset()
        self._ask({"op": "begin"}, START_SECONDS)
        reply = self._ask({"op": "answer", "name": name}, START_SECONDS)
        return ObjectUnpacker(self.session).unpack(reply.get("value"))

    @property
    def usable(self) -> bool:
        """Whether the process runs and can take further requests."""
        return self._process.poll() is None and not self._channel.broken

    def close(self) -> None:
        """Ends the process and all processes that it started, and deletes its folder."""
        process = getattr(self, "_process", None)
        if process is not None:
            self._isolation.end(process, self._room)
            self._channel.close()
            self.session.reset()  # what it keeps refers to it, so that only the garbage collection would free it
            process.stderr.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def __enter__(self) -> "LearnerProcess":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _start(self) -> None:
        work, fonts = self._isolation.given(self._room)
        settings = {
            "path": [str(PACKAGE.parent), *libraries(self._room.hidden)],
            "home": self._isolation.home(self._room),
            "given": work,
            "fonts": fonts,
            "threads": int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)),
            "limits": self._isolation.bounds(self.limits),
        }
        command, pipe = [sys.executable, "-I", "-c", BOOT, json.dumps(settings)], subprocess.PIPE
        # A pipe and not a file for its errors: a submission may find it, and could fill a disk.
        self._process = self._isolation.start(
            command, self._room, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        self._channel = GradingEnd(self._process.stdout, self._process.stdin, self._gone)
        self.session = Session(self._channel, trusted=True)
        try:
            ready = self._channel.receive(START_SECONDS)
            if ready != {"ready": True}:
                raise Ended("the process did not say that it is ready")
        except (Ended, TimeoutError) as error:
            self._isolation.end(self._process, self._room)
            said = os.read(self._process.stderr.fileno(), 2**16).decode(errors="replace").strip().splitlines()
            raise RuntimeError(said[-1] if said else str(error)) from None
        threading.Thread(target=self._watch, daemon=True).start()

    def _ask(self, tree: dict, seconds: float) -> dict:
        try:
            self._channel.send(tree)
            reply = self._channel.receive(seconds)
        except BaseException:  # where it came between the two: a later request would get this one's reply
            self._channel.broken = True
            raise
        if not isinstance(reply, dict) or "op" in reply:
            self._channel.broken = True
            raise self._gone()
        if "error" in reply:
            error = reply["error"]
            raise RuntimeError(str(error.get("words") if isinstance(error, dict) else error)[:500])
        return reply

    def _gone(self) -> BaseException:
        return self._why or Ended("the process ended")

    def _watch(self) -> None:
        # The limits of setrlimit hold for single processes; this watches the sum over all of them.
        while self._process.poll() is None:
            # A gigabyte more than the limit, for PyTorch itself.
            most = (self.limits.memory + 1) * 2**30
            about = (self._process.pid, self._isolation.in_memory, self.limits.processes)
            memory, count = _taken(*about)
            if count > self.limits.processes:
                self._why = Ended(f"more than the {self.limits.processes} processes allowed")
            elif memory > most and _taken(*about, exactly=True)[0] > most:
                self._why = MemoryError(f"more memory than the {self.limits.memory:g} GB allowed")
            elif time.monotonic() > self._until:
                self._why = Ended(f"more time than the {self.limits.minutes:g} minutes allowed")
            if self._why:
                return self._isolation.end(self._process, self._room)
            time.sleep(0.2)


def _taken(number: int, in_memory: tuple[str, ...], most: int, exactly: bool = False) -> tuple[float, int]:
    # The memory in bytes and the number of threads, over all processes. With `exactly`, pages that forked processes
    # share count once, where the system reports it; that is slow, so it is done only where the sum looks too large.
    # Where there are more than `most` processes, only their number.
    memory, count, files = 0.0, 0, {}
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(number)
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


def _files_in_memory(number: int, places: tuple[str, ...]) -> dict:
    # The bytes in a process's in-memory file systems, and in the anonymous files (memfd) that it has open.
    found = {}
    for place in places:
        with contextlib.suppress(OSError):
            size = os.statvfs(f"/proc/{number}/root{place}")
            # Each file, even an empty one, takes about a kilobyte of the kernel's memory.
            taken = (size.f_blocks - size.f_bfree) * size.f_frsize + 1024 * (size.f_files - size.f_ffree)
            found[place] = taken if size.f_blocks < 2**40 else 0
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{number}/fd"):
            with contextlib.suppress(OSError):
                if str(Path(entry.path).readlink()).startswith("/memfd:"):
                    size = Path(entry.path).stat()
                    found[size.st_dev, size.st_ino] = size.st_blocks * 512
    return found
