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

    answers = Answers(shell)
    session = Session(Stream(incoming, outgoing), "u", careful=False, serve=answers.serve, library=Library)
    answers.session = session
    torch.set_num_threads(settings["threads"])
    session.channel.send({"ready": done}, [])
    while True:
        try:
            session.answer(*session.channel.receive())
        except EOFError:
            os._exit(0)


class Answers:
    """What the other side asks for beside calls: to run a cell, to hand over a name, to begin a check."""

    def __init__(self, shell):
        self.shell, self.session = shell, None

    def serve(self, tree: dict, blobs: list) -> tuple[dict, list]:
        """See `Session`."""
        return {"cell": self._cell, "answer": self._answer, "begin": self._begin}[tree["op"]](tree)

    def _cell(self, tree: dict) -> tuple[dict, list]:
        return {"outputs": self.shell.run(tree["source"]), "count": self.shell.execution_count - 1}, []

    def _answer(self, tree: dict) -> tuple[dict, list]:
        from vit_course.classroom.apart.objects import Sending

        sending = Sending(self.session)
        return {"value": sending.pack(self.shell.user_ns.get(tree["name"]))}, sending.blobs

    def _begin(self, tree: dict) -> tuple[dict, list]:
        # The same numbers in every check, and none that says anything about the check's own.
        import numpy as np
        import torch

        self.session.reset()
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        torch.manual_seed(0)
        return {}, []


def _other_standard_files() -> int:
    # 0 gives nothing; 1 and 2 are a file in which the shell finds what started programs wrote.
    captured = os.open(tempfile.mkdtemp() + "/printed", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.dup2(captured, 1)
    os.dup2(captured, 2)
    return captured
