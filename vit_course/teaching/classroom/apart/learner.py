"""The program of a learner's process: runs the notebook's cells, and answers calls on the objects that they define.

`learner_process.LearnerProcess` starts it with the settings as the only argument. Its standard input and output carry
the messages to and from the grading process; the learner's code gets other standard files instead.
"""

import contextlib
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from vit_course.teaching.classroom.list_files import plain_files

# Not copied: Python or Jupyter would run these files at the start, or import them in place of a library.
SHADOWING = ("sitecustomize.py", "usercustomize.py", "vit_course", ".ipython", "ipython_config.py", ".jupyter")


def main(settings: dict) -> None:
    """Prepares the home folder, imports libraries, sets resource limits, and answers requests until the pipe closes."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    _make_home(settings)
    captured = _other_standard_files()
    import torch
    from torch.utils.hooks import RemovableHandle

    from vit_course.teaching.classroom.apart.shell import Shell

    RemovableHandle.next_id += 10**9  # so that no hook has the same id in both processes
    shell = Shell.make(captured)
    limit(settings["limits"])

    from vit_course.teaching.classroom.apart.channel import LearnerEnd
    from vit_course.teaching.classroom.apart.rpc import Session

    session = Session(LearnerEnd(incoming, outgoing), trusted=False)
    session.operations |= answering(shell, session)
    torch.set_num_threads(settings["threads"])
    session.channel.send({"ready": True})
    while True:
        try:
            session.answer(session.channel.receive())
        except EOFError:
            os._exit(0)


def limit(limits: dict[str, int]) -> None:
    """Limits the resources of this process by setrlimit(2), where the system has it.

    Args:
        limits: "memory" in bytes on top of present use, "processes", "seconds" of processor time, "file" size in bytes.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    now = 0
    if sys.platform == "linux":
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    # PyTorch maps gigabytes of address space that it never touches, so the limit is added to the present use.
    wanted = {
        "RLIMIT_AS": now + limits["memory"] if now else None,
        "RLIMIT_NPROC": limits["processes"],
        "RLIMIT_CPU": limits["seconds"],
        "RLIMIT_FSIZE": limits["file"],
        "RLIMIT_CORE": 0,
    }
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is not None and value is not None:
            _, hard = resource.getrlimit(kind)
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (value, value))


def _make_home(settings: dict) -> None:
    home, given = Path(settings["home"]), Path(settings["given"])
    for name in ("work", "tmp", "home/matplotlib"):
        (home / name).mkdir(parents=True, exist_ok=True)
    for inner in plain_files(given, SHADOWING):
        (home / "work" / inner).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(given / inner, home / "work" / inner)
    for path in Path(settings["fonts"]).glob("fontlist-*.json"):
        with contextlib.suppress(OSError):
            shutil.copyfile(path, home / "home" / "matplotlib" / path.name)
    os.chdir(home / "work")
    # At the end of the path: helpers beside the notebook can be imported, but cannot replace a library.
    sys.path.append(str(home / "work"))


def answering(shell, session) -> dict:
    """The handlers of all requests other than calls: run a cell, return the object of a name, begin a check."""
    import numpy as np
    import torch

    from vit_course.checks.maps.traces import HOOKS_ON_ALL
    from vit_course.teaching.classroom.apart.proxies import ObjectPacker

    def begin(tree: dict) -> dict:
        # The same seed in every check, which reveals nothing about the seed of the check itself.
        session.reset()
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        torch.manual_seed(0)
        for hooks in HOOKS_ON_ALL:
            hooks.clear()
        return {}

    def packed(value) -> dict:
        return ObjectPacker(session).pack(value)

    return {
        "cell": lambda tree: {"outputs": packed(shell.run(tree["source"])), "count": shell.execution_count - 1},
        "answer": lambda tree: {"value": packed(shell.user_ns.get(tree["name"]))},
        "begin": begin,
    }


def _other_standard_files() -> int:
    # File descriptor 0 is empty; 1 and 2 go to a file, from which the shell reads the output of child processes.
    captured = os.open(tempfile.mkdtemp() + "/printed", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.dup2(captured, 1)
    os.dup2(captured, 2)
    return captured
