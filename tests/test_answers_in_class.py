"""An answer gets in a class, where its code runs in a process of its own, what the check in the notebook gives it."""

import answers
import exercises
import pytest
from conftest import thoroughly
from nbformat.v4 import new_code_cell

from vit_course.checks.exercise import EXERCISES
from vit_course.teaching.classroom.learner_process import LearnerProcess
from vit_course.teaching.classroom.repair import defines
from vit_course.teaching.classroom.sandbox import Unprotected

# One of the quick ones every day; the class of forty in test_classroom.py grades others.
DAILY = "maps.distances"


def kept(name: str) -> list[tuple[str, str]]:
    """-> (code, the mistake or ""): the worked solution, three right answers, one answer for each mistake."""
    one = exercises.all_exercises()[name][1]
    right = [(answers.source(answer), "") for (answer,) in answers.RIGHT[name]][:3]
    wrong = {mistake: answers.source(answer) for answer, mistake in answers.WRONG[name]}
    every = [(one.solution, ""), *right, *((code, mistake) for mistake, code in wrong.items())]
    return [(code, mistake) for code, mistake in every if defines(new_code_cell(code), one.answer)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [DAILY, *thoroughly(*(name for name in EXERCISES if name != DAILY))])
def test_every_answer_gets_in_class_what_it_gets_at_home(name, tmp_path):
    one, misjudged = exercises.all_exercises()[name][1], []
    with LearnerProcess(tmp_path, Unprotected()) as process:
        for source in exercises.given(name):
            process.run(source, 100)
        for code, mistake in kept(name):
            process.run(code, 100)
            report = EXERCISES[name].check(process.answer(one.answer), seed=0)
            if (report.score == 1) == bool(mistake):
                misjudged.append(f"{code}\nshould be {mistake or 'right'}:\n{report.text}")
    assert misjudged == []
