"""How a learner's process is kept apart from the teacher's machine: the best that this system offers.

In this order: a container of podman or docker, bubblewrap, a user of its own, limits alone. In all of them the process
itself gives up files and network where Linux lets it, see `apart/confine.py`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import psutil

from vit_course.classroom.process import LearnerProcess, Limits, readable_folders

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime", "/etc/ssl", "/etc/passwd")
INSIDE = "/submission"
SPARE_USER = 64_200  # nobody's: above the users of people, below those of user namespaces
IMAGE = "vit-course-empty"


@dataclass(frozen=True)
class Limited:
    """Limits alone: the process runs as the teacher."""

    name = "limits"
    protects = frozenset({"memory", "processes"})  # whatever the process itself can still give up

    def wrap(self, command: list[str], home: Path, environment: dict, limits: Limits, hidden) -> tuple[list, dict]:
        """-> (the command that runs it, the options of `subprocess.Popen`).

        Args:
            command: of the process, as it would run without isolation.
            home: the folder that it may write to, with the submission's copy in `work`.
            environment: its variables.
            limits: what it may take.
            hidden: folders that it must not see.
        """
        return command, {"env": environment, "cwd": home / "work"}

    def place(self, home: Path) -> str:
        """What the folder `home` is called inside."""
        return str(home)

    def processes(self, wanted: int) -> int:
        """-> the limit to set so that the process may have `wanted`: the system's counts all that the user runs."""
        mine = os.getuid() if hasattr(os, "getuid") else None
        others = 0
        for process in psutil.process_iter(["uids", "num_threads"]):
            if process.info["uids"] and process.info["uids"].real == mine:
                others += process.info["num_threads"] or 1
        return others + wanted

    def clean_up(self, home: Path) -> None:
        """Removes what is left after the process has ended, other than the folder `home`."""


class OtherUser(Limited):
    """As a user who owns nothing but the submission's copy; needs root."""

    name = "user"

    def wrap(self, command, home, environment, limits, hidden):
        for path in (home, *home.rglob("*")):
            os.chown(path, SPARE_USER, SPARE_USER, follow_symlinks=False)
        # Without this, a folder whose files everybody may read would be read.
        options = {"user": SPARE_USER, "group": SPARE_USER, "extra_groups": []}
        return command, {"env": environment, "cwd": home / "work", **options}

    def processes(self, wanted):
        return wanted


class Inside(Limited):
    """Of the system only Python and its libraries are to be seen, and there is no network."""

    protects = frozenset({"files", "network", "processes", "memory"})

    def place(self, home):
        return INSIDE

    def processes(self, wanted):
        return wanted if os.getuid() == 0 else super().processes(wanted)


def covered(hidden) -> list[str]:
    """Those of the hidden folders that lie in one that is to be seen."""
    seen = (*SYSTEM, *readable_folders(hidden))
    return [str(path) for path in hidden if any(Path(path).is_relative_to(folder) for folder in seen)]


@dataclass(frozen=True)
class Bubblewrap(Inside):
    """bwrap.

    Args:
        other_user: run as a user of its own; needs root, and a Python that others may read.
    """

    other_user: bool = False
    name = "bubblewrap"

    def wrap(self, command, home, environment, limits, hidden):
        words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
        words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
        for path in SYSTEM:
            is_link = Path(path).is_symlink()
            words += ["--symlink", str(Path(path).readlink()), path] if is_link else ["--ro-bind-try", path, path]
        for path in (*SETTINGS, *readable_folders(hidden)):
            words += ["--ro-bind-try", path, path]
        for path in covered(hidden):
            words += ["--tmpfs", path]
        words += ["--bind", str(home), INSIDE, "--chdir", f"{INSIDE}/work"]
        for name, value in environment.items():
            words += ["--setenv", name, value]
        options = {}
        if self.other_user:
            _, options = OtherUser().wrap(command, home, environment, limits, hidden)
        return [*words, "--cap-drop", "ALL", "--", *command], options | {"cwd": "/"}


@dataclass(frozen=True)
class Container(Inside):
    """podman or docker, with an empty image."""

    program: str = "podman"

    @cached_property
    def name(self) -> str:
        """The program's."""
        return self.program

    def wrap(self, command, home, environment, limits, hidden):
        user = f"{os.getuid()}:{os.getgid()}"
        if os.getuid() == 0:
            OtherUser().wrap(command, home, environment, limits, hidden)
            user = f"{SPARE_USER}:{SPARE_USER}"
        words = [self.program, "run", "--rm", "-i", "--name", home.name, "--network", "none", "--read-only"]
        words += ["--user", user, "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        words += ["--memory", f"{int(limits.memory * 1024) + 1024}m", "--pids-limit", str(limits.processes)]
        words += ["--tmpfs", "/tmp", "--workdir", f"{INSIDE}/work", "--volume", f"{home}:{INSIDE}"]
        if self.program == "podman" and os.getuid() != 0:
            words += ["--userns", "keep-id"]
        for path in (*SYSTEM, *SETTINGS, *readable_folders(hidden)):
            if Path(path).exists():
                words += ["--volume", f"{os.path.realpath(path)}:{path}:ro"]
        for path in covered(hidden):
            words += ["--tmpfs", path]
        for name, value in environment.items():
            words += ["--env", f"{name}={value}"]
        return [*words, IMAGE, *command], {}

    def clean_up(self, home):
        subprocess.run([self.program, "rm", "--force", home.name], capture_output=True, timeout=60, check=False)

    def ready(self) -> bool:
        """Whether the program works and has the empty image, which is made here where it is missing."""
        try:
            asked = subprocess.run([self.program, "image", "inspect", IMAGE], capture_output=True, timeout=60)
            if asked.returncode == 0:
                return True
            empty = b"\0" * 10240  # a tar without files
            made = subprocess.run([self.program, "import", "-", IMAGE], input=empty, capture_output=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return made.returncode == 0


def choose(wanted: str | None = None) -> tuple[Limited, tuple[str, ...]]:
    """-> (the best way that works here, or the one of this name; what is not protected in it, in words).

    Raises:
        ValueError: the wanted way does not work here, or there is none of that name.
    """
    for one in _ways():
        if wanted in (None, one.name) and (lacks := _lacks(one)) is not None:
            return one, lacks
    raise ValueError(f"cannot grade with {wanted or 'any isolation'} here: it is not installed or does not start")


def _ways() -> list[Limited]:
    found = [Container(name) for name in ("podman", "docker") if shutil.which(name) and Container(name).ready()]
    root = hasattr(os, "getuid") and os.getuid() == 0
    if shutil.which("bwrap"):
        found += [Bubblewrap(other_user=True)] if root else []
        found.append(Bubblewrap())
    found += [OtherUser()] if root else []
    return [*found, Limited()]


def _lacks(isolation: Limited) -> tuple[str, ...] | None:
    # A process is started in it: what is installed need not work. None where it does not.
    with tempfile.TemporaryDirectory() as empty:
        try:
            with LearnerProcess(Path(empty), isolation) as process:
                has = isolation.protects | set(process.confined)
        except (OSError, RuntimeError):
            return None
    whose = "everybody on this machine" if isolation.name == OtherUser.name else "you"
    words = {
        "files": f"it can read whatever {whose} can: the sources with solutions and seeds, and other learners' work",
        "network": "it can use the network",
    }
    if sys.platform == "win32":
        words["memory"] = "its memory and processes are watched, and not limited by the system"
        has = has - {"memory"}
    return tuple(text for name, text in words.items() if name not in has)
