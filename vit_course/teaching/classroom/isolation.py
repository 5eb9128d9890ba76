"""How a submission is kept apart from the teacher's machine: by podman, docker or bubblewrap, whichever works here.

In each of them a process sees Python, its libraries and what was handed in, all read-only, and a folder of its own
that lies in memory and goes with it. There is no network, and no socket of the teacher's session.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from vit_course._support.files.stored import PACKAGE, course

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime", "/etc/ssl", "/etc/passwd")
HOME, GIVEN = "/submission", "/given"  # what these are called inside
IMAGE = "vit-course-empty"
# Prints the bytes and processes that a container may have, by cgroups(7) of the second version or the first.
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
    """What the code of one submission may take.

    Args:
        memory: gigabytes, of all its processes together, and of files that lie in memory.
        processes: threads count as processes do.
        minutes: for the whole of a submission.
        disk: gigabytes, of all the files that it writes.
        cell: seconds, of one cell that is no check; a check has limits of its own.
    """

    memory: float = 4.0
    processes: int = 256
    minutes: float = 30.0
    disk: float = 1.0
    cell: float = 240.0


USUAL = Limits()


@dataclass(frozen=True)
class Room:
    """What a process has around it.

    Args:
        home: a new folder, for the way that has none of its own; its name is the container's.
        given: files and folders that it may read.
        limits: what it may take.
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
        """Starts it in there, with further options of `subprocess.Popen`."""
        return subprocess.Popen(command, env=environment(self.home(room)), cwd=room.home, **options)

    def home(self, room: Room) -> str:
        """What its own folder is called in there."""
        return str(room.home)

    def given(self, room: Room) -> list[str]:
        """What the files and folders that it may read are called in there."""
        return [str(path) for path in room.given]

    def bounds(self, limits: Limits) -> dict[str, int]:
        """-> what it sets for itself, as `apart.learner.limit` takes it."""
        return {
            "memory": int(limits.memory * 2**30),
            "processes": self._processes(limits.processes),
            "seconds": int(limits.minutes * 60 * (os.cpu_count() or 1)),
            "file": int(limits.disk * 2**30),
        }

    def _processes(self, wanted: int) -> int:
        import psutil  # here, so that a Python without the packages is told of by the command

        # The system's limit counts all that the user runs.
        mine = os.getuid() if hasattr(os, "getuid") else None
        others = 0
        for process in psutil.process_iter(["uids", "num_threads"]):
            if process.info["uids"] and process.info["uids"].real == mine:
                others += process.info["num_threads"] or 1
        return others + wanted

    def clean_up(self, room: Room) -> None:
        """Ends what is left of it."""


class Bubblewrap(Unprotected):
    """bwrap(1): namespaces of its own, without a container."""

    name = "bubblewrap"
    lacks = ""
    # Its own file systems, all of them in memory.
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
        """Whether a process starts in it, under its limits: what is installed need not work."""
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
        # -> (a program, the words that it prints where all is well)
        return "print(6 * 7)", ["42"]


class Container(Bubblewrap):
    """podman or docker, with an empty image."""

    in_memory = ()  # the container counts them itself

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
        return 2**20  # the container counts them

    def _megabytes(self, limits: Limits) -> int:
        return int(limits.memory * 1024) + 1024  # with what PyTorch takes before a learner's first line

    def _trial(self, limits):
        # Without root, some systems start a container and set it no limit: its control group says what it has.
        return LIMITS_SET, [str(self._megabytes(limits) * 2**20), str(limits.processes)]

    def clean_up(self, room):
        subprocess.run([self.name, "rm", "--force", room.home.name], capture_output=True, timeout=60, check=False)

    def works(self):
        """Whether a process starts in it; the empty image is made where it is missing."""
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
    """The way of this name, which `choose` has given.

    Raises:
        ValueError: there is none of that name.
    """
    ways = {**WAYS, Unprotected.name: Unprotected()}
    if name not in ways:
        raise ValueError("grade with `python -m vit_course classroom grade`, which says how submissions are kept apart")
    return ways[name]


def choose(wanted: str | None = None, unprotected: bool = False) -> Unprotected:
    """-> the first way that works here, or the one of this name.

    Args:
        wanted: one of `WAYS`; by default any.
        unprotected: whether none is as good.

    Raises:
        ValueError: none works, or not the wanted one, and it is not `unprotected`.
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
    """The variables of a process whose own folder is called `inside` in there."""
    kept = {name: os.environ[name] for name in ("LANG", "OMP_NUM_THREADS", "SYSTEMROOT") if name in os.environ}
    return kept | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": f"{inside}/home",
        "TMPDIR": f"{inside}/tmp",
        "USER": "learner",
        "MPLCONFIGDIR": f"{inside}/home/matplotlib",
        "IPYTHONDIR": f"{inside}/home/ipython",
        "VIT_COURSE_PROGRESS": "off",
        "VIT_COURSE_MOST_CALLS": "20",  # of a check by the submission itself: none is found by trying
        "NBGRADER_EXECUTION": "autograde",
    }


def libraries(hidden: tuple[Path, ...] = ()) -> list[str]:
    """Where this Python finds libraries; not the folder that it was started in, nor what holds a hidden one."""
    found = [Path(path).resolve() for path in sys.path if path and Path(path).is_dir()]
    for secret in (Path(path).resolve() for path in (*hidden, os.curdir)):
        found = [path for path in found if not path.is_relative_to(secret) and not secret.is_relative_to(path)]
    return [str(path) for path in found]


def readable_folders(hidden: tuple[Path, ...] = ()) -> list[str]:
    """The folders of Python, its libraries, the course's package and its files: what a process in there reads."""
    of_python = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(sys.executable).resolve().parents[1])}
    ours = {str(PACKAGE), str(course() / "res")}
    others = {*libraries(hidden)} - {str(PACKAGE.parent)}
    return sorted(str(Path(path).resolve()) for path in of_python | ours | others)


def covered(hidden: tuple[Path, ...]) -> list[str]:
    """Those of the hidden folders that lie in one that is to be seen."""
    seen = (*SYSTEM, *readable_folders(hidden))
    return [str(path) for path in hidden if any(Path(path).is_relative_to(folder) for folder in seen)]
