"""The process in which a learner's notebook runs: it runs cells, and answers calls on what they defined.

Started by `process.start` with its settings as the only argument. Standard input and output are the way to the side
that asks; the learner's code finds others in their place.
"""

import os
import random
import tempfile


def main(settings: dict) -> None:
    """Gives up its rights, loads what answers need, and serves until the other side closes."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    captured = _other_standard_files()
    from vit_course.classroom.apart.confine import confine

    import torch  # isort: skip
    from torch.utils.hooks import RemovableHandle

    from vit_course.classroom.apart.shell import Shell

    RemovableHandle.next_id += 10**9  # a hook of this process never has the number of one of the other's
    shell = Shell.make(captured)
    done = confine(settings["readable"], settings["writable"], settings["limits"])

    from vit_course.classroom.apart.channel import Stream
    from vit_course.classroom.apart.session import Session
    from vit_course.checks.restored import Library  # isort: skip

    session = Session(Stream(incoming, outgoing), "u", careful=False, library=Library)
    session.operations |= answering(shell, session)
    torch.set_num_threads(settings["threads"])
    session.channel.send({"ready": done}, [])
    while True:
        try:
            session.answer(*session.channel.receive())
        except EOFError:
            os._exit(0)


def answering(shell, session) -> dict:
    """What the other side asks for beside calls: to run a cell, to hand over a name, to begin a check."""
    import numpy as np
    import torch

    from vit_course.classroom.apart.objects import Sending

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
