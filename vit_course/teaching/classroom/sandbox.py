"""The sandbox of bubblewrap, what a process may take in it, and the process without a sandbox.

In a sandbox a process sees Python, its libraries and the submission, all read-only, and its own folders in
memory, which are deleted with it. There is no network, and no socket of the teacher's session.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from vit_course._support.inputs.rules import check, real, whole
from vit_course.teaching.classroom.control_group import new_group, remove_group
from vit_course.teaching.classroom.sandbox_environment import (
    ETC_FILES,
    SYSTEM,
    environment,
    import_paths,
    readable_folders,
    to_cover,
)

SPARE_PROCESSES = 10  # for bubblewrap itself, and so that the watcher sees too many before the kernel refuses them
FOR_PYTORCH = 1  # gigabytes of memory on top of the limit
WRITABLE, READABLE = "/submission", "/given"  # the paths inside: a folder to write to, and what may be read
# A program that finds what a submission needs; its arguments are the folders to import from.
TRIAL = """
import importlib.util, sys
sys.path[:0] = sys.argv[1:]
import vit_course.teaching.classroom.run_cells
missing = [name for name in ("torch", "ipykernel", "matplotlib") if importlib.util.find_spec(name) is None]
print("ok" if not missing else f"without {missing}")
"""
NOT_PROTECTED = (
    "a submission's code runs as you: it can read and change whatever you can (solutions, marks, the work of others, "
    "your keys), it can use the network, and what it starts may keep running"
)


@dataclass(frozen=True)
class Limits:
    """The resource limits for the code of one submission.

    Args:
        memory: gigabytes, of all its processes together, including files in memory.
        processes: number of processes and threads together.
        minutes: for the whole submission.
        disk: gigabytes, in each of the folders that it may write to.
        cell_seconds: for one cell that is no check; each check has its own limit.

    Raises:
        ValueError: a limit with which no submission could run.
    """

    memory: float = 4.0
    processes: int = 256
    minutes: float = 30.0
    disk: float = 1.0
    cell_seconds: float = 240.0

    def __post_init__(self):
        check(RULES, vars(self))


RULES = {
    "memory": real(1, 10_000),
    "processes": whole(50, 10**6),
    "minutes": real(1, 10**6),
    "disk": real(0.01, 10_000),
    "cell_seconds": real(1, 10**8),
}


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class SandboxSettings:
    """The folders and limits of a sandboxed process.

    Args:
        home: a new folder, used where the sandbox has no home folder of its own; its name also names the container.
        readable: files and folders that it may read.
        limits: its resource limits.
        hidden: folders that it must not see.
    """

    home: Path
    readable: tuple[Path, ...]
    limits: Limits
    hidden: tuple[Path, ...] = ()


class Sandbox:
    """Starts and ends processes; this base class without isolation, as the teacher, and the others in a sandbox."""

    name = "no isolation"
    lacks = NOT_PROTECTED
    in_memory: tuple[str, ...] = ()

    def start(self, command: list[str], settings: SandboxSettings, **options) -> subprocess.Popen:
        """Starts a command in the sandbox; `options` go to `subprocess.Popen`."""
        return subprocess.Popen(command, env=environment(self.home(settings)), cwd=settings.home, **options)

    def home(self, settings: SandboxSettings) -> str:
        """The path of the process's home folder inside the sandbox."""
        return str(settings.home)

    def readable_inside(self, settings: SandboxSettings) -> list[str]:
        """The paths of the readable files and folders inside the sandbox."""
        return [str(path) for path in settings.readable]

    def bounds(self, limits: Limits) -> dict[str, int]:
        """The limits that the process sets for itself, as `resource_limits.limit` takes them."""
        return {
            "memory": int(limits.memory * 2**30),
            "processes": self._processes(limits.processes),
            "seconds": int(limits.minutes * 60 * (os.cpu_count() or 1)),  # the threads of a process add up
            "file": int(limits.disk * 2**30),
        }

    def _processes(self, wanted: int) -> int:
        import psutil  # imported here, so that the command can report it where it is missing

        # The system's limit counts all processes of the user.
        mine = os.getuid() if hasattr(os, "getuid") else None
        others = 0
        for process in psutil.process_iter(["uids", "num_threads"]):
            if process.info["uids"] and process.info["uids"].real == mine:
                others += process.info["num_threads"] or 1
        return others + wanted

    def end(self, process: subprocess.Popen, settings: SandboxSettings) -> None:
        """Ends a process of `start` and all that it has started."""
        import psutil

        # Repeated, because a process that is forked during one round is found only in the next.
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
                return
            except subprocess.TimeoutExpired:
                continue


class Bubblewrap(Sandbox):
    """bwrap(1): a sandbox of Linux namespaces, without a container."""

    name, program = "bubblewrap", "bwrap"
    lacks = ""
    # The sandbox's own file systems: all are in memory, and nothing else in it can be written to.
    in_memory = (WRITABLE, "/tmp", "/dev/shm")

    def start(self, command, settings, **options):
        # bwrap is a process of the sandbox too, so a submission can read its environment, which is empty, and its
        # command line; what names the teacher's folders is therefore passed by a file.
        words = self.arguments(settings)
        with tempfile.TemporaryFile() as file:
            file.write("".join(f"{word}\0" for word in words).encode(errors="surrogateescape"))
            file.seek(0)
            line = [shutil.which(self.program) or self.program, "--args", str(file.fileno()), "--", *command]
            if group := new_group(settings.home.name, settings.limits.processes + SPARE_PROCESSES):
                line = ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs"), *line]
            return subprocess.Popen(line, env={}, cwd="/", pass_fds=[file.fileno()], **options)

    def arguments(self, settings: SandboxSettings) -> list[str]:
        """The options of the program that starts the sandbox."""
        words = ["--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--die-with-parent"]
        # File systems in a user namespace of its own would be memory that nobody counts.
        words += ["--disable-userns", "--new-session", "--clearenv", "--cap-drop", "ALL", "--dev", "/dev"]
        # The settings of the kernel are open to root's processes, which those of the sandbox are where root grades.
        words += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
        # Before the folders that are read, because Python or the course may lie below one of these.
        for path in self.in_memory:
            words += ["--size", str(int(settings.limits.disk * 2**30)), "--tmpfs", path]
        for path in SYSTEM:
            is_link = Path(path).is_symlink()
            words += ["--symlink", str(Path(path).readlink()), path] if is_link else ["--ro-bind-try", path, path]
        for path in (*ETC_FILES, *readable_folders(settings.hidden)):
            words += ["--ro-bind-try", path, path]
        for path in to_cover(settings.hidden):
            words += ["--size", "4096", "--tmpfs", path, "--remount-ro", path]
        for path, inside in zip(settings.readable, self.readable_inside(settings), strict=True):
            words += ["--ro-bind", str(path), inside]
        for name, value in environment(WRITABLE).items():
            words += ["--setenv", name, value]
        # The root and /dev are file systems in memory too, without a size.
        return [*words, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WRITABLE]

    def home(self, settings):
        return WRITABLE

    def readable_inside(self, settings):
        return [f"{READABLE}/{number}" for number in range(len(settings.readable))]

    def end(self, process, settings):
        import psutil

        # The end of the sandbox's first process ends all others, however many there are.
        with contextlib.suppress(psutil.Error):
            for first in psutil.Process(process.pid).children():
                first.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        process.wait()
        remove_group(settings.home.name)

    def why_not(self) -> str:
        """Why no process of the course starts in the sandbox, or ""."""
        if not shutil.which(self.program):
            return "it is not installed"
        with tempfile.TemporaryDirectory(prefix="vit-course-") as home:
            settings = SandboxSettings(Path(home), (), Limits(memory=1.0, disk=0.01))
            program, expected = self._trial(settings.limits)
            command = [sys.executable, "-I", "-c", program, *import_paths()]
            try:
                process = self.start(command, settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                try:
                    out, said = (text.decode(errors="replace").strip() for text in process.communicate(timeout=60))
                finally:
                    self.end(process, settings)
            except (OSError, subprocess.TimeoutExpired) as error:
                return str(error)
        if out.split() == expected:
            return ""
        said = said.splitlines()
        if said:
            return next((line for line in said if line.startswith(f"{self.program}: ")), said[-1])
        return f"its limits are {out or 'not set'} instead of {' '.join(expected)}"

    def _trial(self, limits: Limits) -> tuple[str, list[str]]:
        # Returns (a test program, the words that it prints where the sandbox works).
        return TRIAL, ["ok"]
