"""A program for test_killed.py: trains in children that are killed, resumes them, and prints what came out.

Children are forked, so that dozens of them cost seconds; one thread, since threads do not survive a fork.
"""

import json
import os
import signal
import sys
import traceback
from dataclasses import replace
from pathlib import Path

import accelerate  # noqa: F401 (once and before the fork, as is _dynamo, which optimisers load)
import torch
import torch._dynamo

torch.set_num_threads(1)

from runs import RECIPE, files, new_model  # noqa: E402

from vit_course import data, training  # noqa: E402
from vit_course._support.files import atomic  # noqa: E402

DATASET = data.shapes(90, 40, 40, image_size=(12, 8))


def work(folder: Path) -> None:
    recipe = replace(RECIPE, epochs=4, precision="bfloat16")
    started = (folder / "last.safetensors").exists()
    training.train(new_model(), DATASET, recipe, folder, resume=started, progress=False)


def child(task) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            task()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def outcome(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def killed_at(folder: Path, count: int) -> bool:
    """Kills a run at the count-th of the moments just before and just after each step of writing a file."""

    def task():
        moments = 0

        def moment():
            nonlocal moments
            moments += 1
            if moments == count:
                os.kill(os.getpid(), signal.SIGKILL)

        def around(step):
            def stepped(*arguments, **options):
                moment()
                result = step(*arguments, **options)
                moment()
                return result

            return stepped

        atomic.os.fsync = around(os.fsync)
        atomic.Path.replace = around(Path.replace)
        work(folder)

    return outcome(child(task)) == -signal.SIGKILL


def main(root: Path) -> None:
    whole = root / "whole"
    assert outcome(child(lambda: work(whole))) == 0
    reference = files(whole)
    result = {"files": sorted(reference), "moments": 0, "wrong": [], "leftovers": 0}
    while True:
        result["moments"] += 1
        folder = root / f"at-{result['moments']}"
        if not killed_at(folder, result["moments"]):
            break
        result["leftovers"] += any(path.name.startswith(".") and path.name != ".lock" for path in folder.iterdir())
        assert outcome(child(lambda folder=folder: work(folder))) == 0
        if files(folder) != reference:
            result["wrong"].append(folder.name)
    print(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
