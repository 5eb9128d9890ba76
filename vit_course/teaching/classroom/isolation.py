"""Sandboxes for submissions: podman, docker or bubblewrap, whichever works on this machine.

In each of them a process sees Python, its libraries and the submission, all read-only, and its own folder in memory,
which is deleted with it. There is no network, and no socket of the teacher's session.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from vit_course._support.files.course_files import PACKAGE, course

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime", "/etc/ssl", "/etc/passwd")
HOME, GIVEN = "/submission", "/given"  # their paths inside the sandbox
IMAGE = "vit-course-empty"
# A program that prints a container's limits of memory and processes, from version 2 or 1 of cgroups(7).
LIMITS_SET = """
from pathlib import Path
for name in ("memory.max", "memory/memory.limit_in_bytes", "pids.max", "pids/pids.max"):
    if (file := Path("/sys/fs/cgroup", name)).is_file():
        print(file.read_text())
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
        disk: gigabytes, of all the files that it writes.
        cell: seconds for one cell that is no check; each check has its own limit.
    """

    memory: float = 4.0
    processes: int = 256
    minutes: float = 30.0
    disk: float = 1.0
    cell: float = 240.0


USUAL = Limits()


@dataclass(frozen=True)
class Room:
    """The folders and limits of a sandboxed process.

    Args:
        home: a new folder, used where the sandbox has no home folder of its own; its name also names the container.
        given: files and folders that it may read.
        limits: its resource limits.
        hidden: folders that it must not see.
    """

    home: Path
    given: tuple[Path, ...]
    limits: Limits
    hidden: tuple[Path, ...] = ()


class Unprotected:
    """No isolation: a process that runs as the teacher."""

    name = "no isolation"
    lacks = NOT_PROTECTED
    in_memory: tuple[str, ...] = ()

    def start(self, command: list[str], room: Room, **options) -> subprocess.Popen:
        """Starts a command in the sandbox; `options` go to `subprocess.Popen`."""
        return subprocess.Popen(command, env=environment(self.home(room)), cwd=room.home, **options)

    def home(self, room: Room) -> str:
        """The path of the process's home folder inside the sandbox."""
        return str(room.home)

    def given(self, room: Room) -> list[str]:
        """The paths of the given files and folders inside the sandbox."""
        return [str(path) for path in room.given]

    def bounds(self, limits: Limits) -> dict[str, int]:
        """The limits that the process sets for itself, as `apart.learner.limit` takes them."""
        return {
            "memory": int(limits.memory * 2**30),
            "processes": self._processes(limits.processes),
            "seconds": int(limits.minutes * 60 * (os.cpu_count() or 1)),
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

    def clean_up(self, room: Room) -> None:
        """Removes whatever is left of the sandbox."""


class Bubblewrap(Unprotected):
    """bwrap(1): a sandbox of Linux namespaces, without a container."""

    name = "bubblewrap"
    lacks = ""
    # The sandbox's own file systems, all of them in memory.
    in_memory = (HOME, "/tmp", "/dev/shm")

    def start(self, command, room, **options):
        return subprocess.Popen(self._wrapped(command, room), **options)

    def _wrapped(self, command: list[str], room: Room) -> list[str]:
        words = ["bwrap", "--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--die-with-parent"]
        words += ["--new-session", "--clearenv", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev"]
        for path in SYSTEM:
            is_link = Path(path).is_symlink()
            words += ["--symlink", str(Path(path).readlink()), path] if is_link else ["--ro-bind-try", path, path]
        for path in (*SETTINGS, *readable_folders(room.hidden)):
            words += ["--ro-bind-try", path, path]
        for path in covered(room.hidden):
            words += ["--tmpfs", path]
        for path in self.in_memory:
            words += ["--size", str(int(room.limits.disk * 2**30)), "--tmpfs", path]
        for path, inside in zip(room.given, self.given(room), strict=True):
            words += ["--ro-bind", str(path), inside]
        for name, value in environment(HOME).items():
            words += ["--setenv", name, value]
        return [*words, "--chdir", HOME, "--", *command]

    def home(self, room):
        return HOME

    def given(self, room):
        return [f"{GIVEN}/{number}" for number in range(len(room.given))]

    def works(self) -> bool:
        """Whether a process starts in the sandbox with its limits; an installed program may still not work here."""
        room = Room(Path(f"vit-course-{os.getpid()}"), (), Limits(memory=1.0, disk=0.01))
        program, expected = self._trial(room.limits)
        command = [sys.executable, "-I", "-c", program]
        try:
            with self.start(command, room, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                try:
                    return process.communicate(timeout=60)[0].decode().split() == expected
                finally:
                    process.kill()
                    self.clean_up(room)
        except (OSError, subprocess.TimeoutExpired):
            return False

    def _trial(self, limits: Limits) -> tuple[str, list[str]]:
        # Returns (a test program, the words that it prints where the sandbox works).
        return "print(6 * 7)", ["42"]


class Container(Bubblewrap):
    """podman or docker, with an empty image."""

    in_memory = ()  # the container's memory limit includes them

    def __init__(self, program: str):
        self.name = program

    def _wrapped(self, command, room):
        size = f"size={int(room.limits.disk * 2**30)},mode=1777"
        memory = f"{self._megabytes(room.limits)}m"
        words = [self.name, "run", "--rm", "--interactive", "--name", room.home.name, "--network", "none"]
        words += ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        words += ["--user", f"{os.getuid()}:{os.getgid()}"]
        words += ["--memory", memory, "--memory-swap", memory, "--pids-limit", str(room.limits.processes)]
        words += ["--tmpfs", f"{HOME}:{size}", "--tmpfs", f"/tmp:{size}", "--workdir", HOME]
        if self.name == "podman" and os.getuid() != 0:
            words += ["--userns", "keep-id"]
        for path in (*SYSTEM, *SETTINGS, *readable_folders(room.hidden)):
            if Path(path).exists():
                words += ["--volume", f"{os.path.realpath(path)}:{path}:ro"]
        for path in covered(room.hidden):
            words += ["--tmpfs", path]
        for path, inside in zip(room.given, self.given(room), strict=True):
            words += ["--volume", f"{path}:{inside}:ro"]
        for name, value in environment(HOME).items():
            words += ["--env", f"{name}={value}"]
        return [*words, IMAGE, *command]

    def _processes(self, wanted):
        return 2**20  # in effect none: the container has its own limit

    def _megabytes(self, limits: Limits) -> int:
        return int(limits.memory * 1024) + 1024  # a gigabyte more, for PyTorch itself

    def _trial(self, limits):
        # Without root, some systems start a container without its limits, so its cgroup is asked for them.
        return LIMITS_SET, [str(self._megabytes(limits) * 2**20), str(limits.processes)]

    def clean_up(self, room):
        subprocess.run([self.name, "rm", "--force", room.home.name], capture_output=True, timeout=60, check=False)

    def works(self):
        """Whether a process starts in the container; makes the empty image where it is missing."""
        try:
            asked = subprocess.run([self.name, "image", "inspect", IMAGE], capture_output=True, timeout=60, check=False)
            if asked.returncode:
                empty = b"\0" * 10240  # a tar without files
                subprocess.run([self.name, "import", "-", IMAGE], input=empty, capture_output=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return super().works()


WAYS = {"podman": Container("podman"), "docker": Container("docker"), "bubblewrap": Bubblewrap()}


def named(name: str) -> Unprotected:
    """The sandbox of this name, as `choose` has found it.

    Raises:
        ValueError: there is no sandbox of that name.
    """
    ways = {**WAYS, Unprotected.name: Unprotected()}
    if name not in ways:
        raise ValueError("grade with `python -m vit_course classroom grade`, which says how submissions are kept apart")
    return ways[name]


def choose(wanted: str | None = None, unprotected: bool = False) -> Unprotected:
    """The first sandbox that works on this machine, or the one of this name.

    Args:
        wanted: one of `WAYS`; by default any.
        unprotected: accept no sandbox where none works.

    Raises:
        ValueError: none works, or the wanted one does not, and `unprotected` is False.
    """
    for name, way in WAYS.items():
        if wanted in (None, name) and shutil.which(name.replace("bubblewrap", "bwrap")) and way.works():
            return way
    if unprotected:
        return Unprotected()
    raise ValueError(
        f"{wanted or 'none of ' + ', '.join(WAYS)} works here, and without one {NOT_PROTECTED}. Install one (on Debian "
        "and Ubuntu: apt install bubblewrap), or grade with --unprotected"
    )


def environment(inside: str) -> dict[str, str]:
    """The environment variables of a sandboxed process whose home folder has the path `inside`."""
    kept = {name: os.environ[name] for name in ("LANG", "OMP_NUM_THREADS", "SYSTEMROOT") if name in os.environ}
    return kept | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": f"{inside}/home",
        "TMPDIR": f"{inside}/tmp",
        "USER": "learner",
        "MPLCONFIGDIR": f"{inside}/home/matplotlib",
        "IPYTHONDIR": f"{inside}/home/ipython",
        "VIT_COURSE_PROGRESS": "off",
        "VIT_COURSE_MOST_CALLS": "20",  # calls of a check by the submission: no answer by trying
        "NBGRADER_EXECUTION": "autograde",
    }


def libraries(hidden: tuple[Path, ...] = ()) -> list[str]:
    """The folders of `sys.path`, except the current and the hidden folders, and those inside or around them."""
    found = [Path(path).resolve() for path in sys.path if path and Path(path).is_dir()]
    for secret in (Path(path).resolve() for path in (*hidden, os.curdir)):
        found = [path for path in found if not path.is_relative_to(secret) and not secret.is_relative_to(path)]
    return [str(path) for path in found]


def readable_folders(hidden: tuple[Path, ...] = ()) -> list[str]:
    """The folders that a sandboxed process reads: Python, its libraries, the course's package and its files."""
    of_python = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(sys.executable).resolve().parents[1])}
    ours = {str(PACKAGE), str(course() / "res")}
    others = {*libraries(hidden)} - {str(PACKAGE.parent)}
    return sorted(str(Path(path).resolve()) for path in of_python | ours | others)


def covered(hidden: tuple[Path, ...]) -> list[str]:
    """The hidden folders that lie inside a visible folder, and so must be covered."""
    seen = (*SYSTEM, *readable_folders(hidden))
    return [str(path) for path in hidden if any(Path(path).is_relative_to(folder) for folder in seen)]
