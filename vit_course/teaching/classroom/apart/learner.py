"""The process in which a learner's notebook runs: it runs cells, and answers calls on what they defined.

Started by `process.start` with its settings as the only argument. Standard input and output are the way to the side
that asks; the learner's code finds others in their place.
"""

import contextlib
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from vit_course.teaching.classroom.plain import plain_files

# What would act before the notebook, or in a library's place, stays behind.
SHADOWING = ("sitecustomize.py", "usercustomize.py", "vit_course", ".ipython", "ipython_config.py", ".jupyter")


def main(settings: dict) -> None:
    """Makes its folder, loads what answers need, limits itself, and serves until the other side closes."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    _make_home(settings)
    captured = _other_standard_files()
    import torch
    from torch.utils.hooks import RemovableHandle

    from vit_course.teaching.classroom.apart.shell import Shell

    RemovableHandle.next_id += 10**9  # a hook of this process never has the number of one of the other's
    shell = Shell.make(captured)
    limit(settings["limits"])

    from vit_course.teaching.classroom.apart.channel import Stream
    from vit_course.teaching.classroom.apart.rpc import Session
    from vit_course.checks.snapshot import Library  # isort: skip

    session = Session(Stream(incoming, outgoing), "u", careful=False, library=Library)
    session.operations |= answering(shell, session)
    torch.set_num_threads(settings["threads"])
    session.channel.send({"ready": True}, [])
    while True:
        try:
            session.answer(*session.channel.receive())
        except EOFError:
            os._exit(0)


def limit(limits: dict[str, int]) -> None:
    """Bounds what this process may take, where the system can (setrlimit(2)).

    Args:
        limits: "memory" in bytes beyond what it has now, "processes", "seconds" of a processor, "file" in bytes.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    now = 0
    if sys.platform == "linux":
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    # PyTorch alone maps gigabytes that it never touches: the limit is what comes on top.
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
    # The learner's code finds helpers beside its notebook, but nothing there takes the place of a library.
    sys.path.append(str(home / "work"))


def answering(shell, session) -> dict:
    """What the other side asks for beside calls: to run a cell, to hand over a name, to begin a check."""
    import numpy as np
    import torch

    from vit_course.teaching.classroom.apart.proxies import Sending

    def cell(tree: dict, blobs: list) -> tuple[dict, list]:
        return {"outputs": shell.run(tree["source"]), "count": shell.execution_count - 1}, []

    def answer(tree: dict, blobs: list) -> tuple[dict, list]:
        sending = Sending(session)
        return {"value": sending.pack(shell.user_ns.get(tree["name"]))}, sending.blobs

    def begin(tree: dict, blobs: list) -> tuple[dict, list]:
        # The same numbers in every check, and none that says anything about the check's own.
        session.reset()
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        torch.manual_seed(0)
        return {}, []

    return {"cell": cell, "answer": answer, "begin": begin}


def _other_standard_files() -> int:
    # 0 gives nothing; 1 and 2 are a file in which the shell finds what started programs wrote.
    captured = os.open(tempfile.mkdtemp() + "/printed", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.dup2(captured, 1)
    os.dup2(captured, 2)
    return captured
