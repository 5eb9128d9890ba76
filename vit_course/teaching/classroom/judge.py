"""Judges a submission's answers in its own kernel, with the checks of the notebook.

`run_cells` imports this before the submission's first cell. The check runs in the process of the answer, as nbgrader
and otter do it, so a submission could change the check or its result.
"""

import sys
from pathlib import Path

from IPython import get_ipython
from IPython.display import display

from vit_course.checks import EXERCISES
from vit_course.checks.snapshot import Library
from vit_course.teaching.classroom.grading_cell import REPORT_MIME
from vit_course.teaching.classroom.resource_limits import limit

_library = Library()


def prepare(limits: dict[str, int]) -> None:
    """Prepares the kernel for a submission's cells.

    Args:
        limits: see `resource_limits.limit`; set here, on top of what PyTorch takes.
    """
    get_ipython().ask_exit = lambda: None  # the notebook continues after exit()
    # At the end of the path: helpers beside the notebook can be imported, but cannot replace a library.
    sys.path.append(str(Path.cwd()))
    limit(limits)


def judge(name: str, answer: object, seeds: list[int]) -> None:
    """Checks an answer, and displays the reports as JSON.

    Args:
        name: of the exercise, such as "attention.weights".
        answer: the learner's object.
        seeds: of the hidden draws, which are tried where the visible one has passed at least in part.
    """
    replaced = _library.restore()
    reports = []
    for seed in (0, *seeds):
        report = EXERCISES[name].check(answer, seed=seed)
        reports.append({"score": report.score, "mistake": report.mistake, "text": report.text})
        if not report.score:
            break
    display({REPORT_MIME: {"replaced": replaced, "reports": reports}}, raw=True)
