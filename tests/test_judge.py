"""A verdict in class is the verdict in the notebook: in both, the check runs in the process of the answer."""

import answers
import exercises
import pytest

from vit_course.checks.exercise import EXERCISES
from vit_course.teaching.classroom.grade_submission import read_verdict
from vit_course.teaching.classroom.grading_cell import GradingCell
from vit_course.teaching.classroom.learner_process import LearnerProcess
from vit_course.teaching.classroom.sandbox import Sandbox

pytestmark = pytest.mark.slow
# They look at a mask, at hooks on a model, at an optimiser's steps, and at a model's gradients.
NAMES = ("attention.weights", "maps.record", "training.step", "vit.independent")


def test_an_answer_gets_in_class_what_it_gets_in_the_notebook(tmp_path):
    judged, expected = [], []
    with LearnerProcess(tmp_path, Sandbox()) as process:
        for name in NAMES:
            one = exercises.all_exercises()[name][1]
            graded = GradingCell(name, one.answer, (), EXERCISES[name].points)
            for code in (one.solution, one.stub_code, *answers.of(name).edited[:3]):
                for source in (*exercises.given(name), code):
                    assert not [out for out in process.run(source, 100)[0] if out["output_type"] == "error"], source
                report = read_verdict(graded, process.run(graded.call, 200)[0])[0].report
                judged.append((name, report.score, report.mistake))
                home = EXERCISES[name].check(exercises.made_by(name, code))
                expected.append((name, home.score, home.mistake))
    assert judged == expected
    assert len({mistake for _, _, mistake in judged}) > 9, "right ones, stubs and many kinds of wrong ones"
