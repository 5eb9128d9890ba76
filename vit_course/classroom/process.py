"""Starts the process in which a learner's code runs, watches what it takes, and ends it."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import psutil

from vit_course.checks.worker import Left
from vit_course.classroom.apart.channel import Watched
from vit_course.classroom.apart.objects import Receiving
from vit_course.classroom.apart.session import Session
from vit_course.classroom.handed_in import plain_files
from vit_course.files.stored import PACKAGE, course

START_SECONDS = 120.0
# The learner's code finds helpers beside its notebook, but nothing there takes the place of a library.
BOOT = (
    "import json, sys; settings = json.loads(sys.argv[1]); sys.path[:0] = settings['path']; "
    "sys.path.append(settings['work']); "
    "from vit_course.classroom.apart.learner import main; main(settings)"
)
# What would act before the notebook, or in a library's place, stays behind.
SHADOWING = ("sitecustomize.py", "usercustomize.py", "vit_course", ".ipython", "ipython_config.py", ".jupyter")


@dataclass(frozen=True)
class Limits:
    """What the code of one submission may take.

    Args:
        memory: gigabytes, of all its processes together.
        processes: threads count as processes do.
        minutes: for the whole of a submission.
        file: gigabytes, of one file.
        cell: seconds, of one cell that is no check; a check has limits of its own.
    """

    memory: float = 4.0
    processes: int = 256
    minutes: float = 30.0
    file: float = 1.0
    cell: float = 240.0


USUAL = Limits()


class Ended(SystemExit):
    """The learner's process is gone: it ended itself, or was ended for what it took."""


Ended.__name__ = "SystemExit"  # what a learner may read of it


class LearnerProcess:
    """A learner's process: runs cells, and hands over names as objects that checks can judge.

    Args:
        folder: of the submission; a copy of it is what the code sees.
        isolation: how it is kept apart, see `isolation.choose`.
        limits: what it may take.
        hidden: folders that it must not see, such as the course's.

    Raises:
        RuntimeError: the process does not start, with what it said last.
        OSError: the submission cannot be copied, or the command of the isolation is not there.
    """

    def __init__(self, folder: Path, isolation, limits: Limits = USUAL, hidden: tuple[Path, ...] = ()):
        self.limits, self._isolation = limits, isolation
        self._home = Path(tempfile.mkdtemp(prefix="vit-course-"))
        self._ended_for = ""
        try:
            work = self._home / "work"
            work.mkdir()
            for inner in plain_files(folder, SHADOWING):
                (work / inner).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / inner, work / inner)
            self._start(hidden)
        except BaseException:
            self.close()
            raise

    def run(self, source: str, seconds: float) -> tuple[list, int]:
        """Runs one cell, which may take some seconds; -> (its outputs, its number).

        Raises:
            TimeoutError: it did not end in time; the process is of no more use.
            MemoryError, Ended: the process is gone.
        """
        try:
            reply, _ = self._ask({"op": "cell", "source": source}, seconds)
            return list(reply["outputs"]), int(reply["count"])
        except (RuntimeError, KeyError, TypeError, ValueError):  # the learner's code can send what it likes
            self._channel.broken = True
            raise Ended("the process sent no outputs") from None

    def answer(self, name: str):
        """What the notebook has under a name, ready for a check; None where it has nothing.

        Raises:
            RuntimeError, WireError: it cannot be handed over.
            TimeoutError, MemoryError, Ended: as of `run`.
        """
        self.session.reset()
        self._ask({"op": "begin"}, START_SECONDS)
        reply, blobs = self._ask({"op": "answer", "name": name}, START_SECONDS)
        return Receiving(self.session, blobs).unpack(reply.get("value"))

    @property
    def usable(self) -> bool:
        """Whether it can be asked for more."""
        return self._process.poll() is None and not self._channel.broken

    def close(self) -> None:
        """Ends the process, whatever it started, and its folder."""
        process = getattr(self, "_process", None)
        if process is not None:
            _end(process)
            self._isolation.clean_up(self._home)
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    stream.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def __enter__(self) -> "LearnerProcess":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _start(self, hidden: tuple[Path, ...]) -> None:
        inside = self._isolation.place(self._home)
        for name in ("tmp", "home"):
            (self._home / name).mkdir()
        _give_fonts(self._home / "home")
        settings = {
            "path": [str(PACKAGE.parent), *libraries(hidden)],
            "work": f"{inside}/work",
            "readable": readable_folders(hidden),
            "writable": [str(inside)],
            "threads": int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)),
            "limits": {
                "memory": int(self.limits.memory * 2**30),
                "processes": self._isolation.processes(self.limits.processes),
                "seconds": int(self.limits.minutes * 60 * (os.cpu_count() or 1)),
                "file": int(self.limits.file * 2**30),
            },
        }  # fmt: skip
        command = [sys.executable, "-I", "-c", BOOT, json.dumps(settings)]
        command, options = self._isolation.wrap(command, self._home, _environment(inside), self.limits, hidden)
        log = (self._home / "log").open("wb")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True, **options
        )  # fmt: skip
        self._channel = Watched(self._process.stdout, self._process.stdin, self._gone)
        self.session = Session(self._channel, "t", careful=True, changed=Left)
        try:
            ready, _ = self._channel.receive(START_SECONDS)
            self.confined = tuple(str(name) for name in ready["ready"])
        except (Ended, TimeoutError, KeyError, TypeError) as error:
            said = (self._home / "log").read_text(errors="replace").strip().splitlines()
            raise RuntimeError(said[-1] if said else str(error)) from None
        threading.Thread(target=self._watch, daemon=True).start()

    def _ask(self, tree: dict, seconds: float) -> tuple:
        self._channel.send(tree, [])
        reply, blobs = self._channel.receive(seconds)
        if not isinstance(reply, dict) or "op" in reply:
            self._channel.broken = True
            raise self._gone()
        if "error" in reply:
            raise RuntimeError(str(reply["error"])[:500])
        return reply, blobs

    def _gone(self) -> BaseException:
        if self._ended_for:
            return MemoryError(self._ended_for) if "memory" in self._ended_for else Ended(self._ended_for)
        return Ended("the process ended")

    def _watch(self) -> None:
        # Limits of one process do not bound what many take together.
        end = time.monotonic() + 60 * self.limits.minutes
        while self._process.poll() is None:
            # A gigabyte more, for PyTorch itself is not the learner's.
            most = (self.limits.memory + 1) * 2**30
            memory, count = _taken(self._process.pid)
            if count > self.limits.processes:
                self._ended_for = f"more than the {self.limits.processes} processes allowed"
            elif memory > most and _taken(self._process.pid, exactly=True)[0] > most:
                self._ended_for = f"more memory than the {self.limits.memory:g} GB allowed"
            elif time.monotonic() > end:
                self._ended_for = f"more time than the {self.limits.minutes:g} minutes allowed"
            if self._ended_for:
                return _end(self._process)
            time.sleep(0.2)


def libraries(hidden: tuple[Path, ...] = ()) -> list[str]:
    """Where this Python finds libraries; not the folder that it was started in, nor what holds a hidden one."""
    found = [Path(path).resolve() for path in sys.path if path and Path(path).is_dir()]
    for secret in (Path(path).resolve() for path in (*hidden, os.curdir)):
        found = [path for path in found if not path.is_relative_to(secret) and not secret.is_relative_to(path)]
    return [str(path) for path in found]


def readable_folders(hidden: tuple[Path, ...] = ()) -> list[str]:
    """The folders of Python, its libraries, the course's package and its files: what a learner's process reads."""
    of_python = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(sys.executable).resolve().parents[1])}
    ours = {str(PACKAGE), str(course() / "res")}
    others = {*libraries(hidden)} - {str(PACKAGE.parent)}
    return sorted(str(Path(path).resolve()) for path in of_python | ours | others)


def _environment(inside) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("LANG", "OMP_NUM_THREADS", "SYSTEMROOT") if name in os.environ}
    return kept | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": f"{inside}/home",
        "TMPDIR": f"{inside}/tmp",
        "USER": "learner",
        "MPLCONFIGDIR": f"{inside}/home/matplotlib",
        "IPYTHONDIR": f"{inside}/home/ipython",
        "VIT_COURSE_PROGRESS": "off",
        "NBGRADER_EXECUTION": "autograde",
    }


def _give_fonts(home: Path) -> None:
    # Making the list of fonts takes seconds; the teacher's is as good.
    (home / "matplotlib").mkdir()
    for path in Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
        shutil.copyfile(path, home / "matplotlib" / path.name)


def _taken(number: int, exactly: bool = False) -> tuple[float, int]:
    # Bytes, and processes with their threads. Exactly means that pages which forked processes share count once, where
    # the system tells; that is slow, so it is asked for only where the sum looks too large.
    memory, count = 0.0, 0
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(number)
        for process in [root, *root.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                count += process.num_threads()
                taken = process.memory_full_info() if exactly else process.memory_info()
                memory += getattr(taken, "pss", taken.rss - getattr(taken, "shared", 0))
    return memory, count


def _end(process: subprocess.Popen) -> None:
    # Again and again: one that is being forked while the others end is found in the next round.
    for _ in range(100):
        every = []
        with contextlib.suppress(psutil.Error):
            root = psutil.Process(process.pid)
            every = [*root.children(recursive=True), root]
        for each in every:
            with contextlib.suppress(psutil.Error):
                each.suspend() if each.pid != process.pid else None
        for each in every:
            with contextlib.suppress(psutil.Error):
                each.kill()
        try:
            process.wait(0.2 if len(every) > 1 else 5)
            break
        except subprocess.TimeoutExpired:
            continue
