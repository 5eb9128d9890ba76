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
# Reports of runs: their kept answers are objects and not code, so that only the worked solution is judged.
REPORTS = {"pretrained.blocks", "evidence.luck", "evidence.same_head", "without_labels.sharpness", "further.rates"}
REPORTS |= {"further.batch"}
# Another true sentence: what is recorded for a gradient, what shares memory and a ViT of other parts do not cross.
DIFFER = {
    ("without_labels.teacher", "gradient-recorded"): "requires-grad-changed",
    ("without_labels.teacher", "memory-shared"): "tensors-replaced",
    ("pretrained.mended", "head-differs"): "wrong-behaviour",
}


def kept(name: str) -> list[tuple[str, str]]:
    """-> (code, the mistake or ""): the worked solution, three right answers, one answer for each mistake."""
    one = exercises.all_exercises()[name][1]

    def written(answer) -> str:
        # An answer that is shared with another exercise has the name that the other one asks for.
        code = answers.code(answer)
        return code if defines(new_code_cell(code), one.answer) else f"{code}\n{one.answer} = {answer.__name__}"

    right = [written(answer) for (answer,) in answers.RIGHT[name] if answers.code(answer)][:3]
    wrong = {mistake: written(answer) for answer, mistake in answers.WRONG[name] if answers.code(answer)}
    assert bool(right and wrong) == (name not in REPORTS)
    return [(code, "") for code in (one.solution, *right)] + [(code, mistake) for mistake, code in wrong.items()]


@pytest.mark.slow
@pytest.mark.parametrize("name", [DAILY, *thoroughly(*(name for name in EXERCISES if name != DAILY))])
def test_every_answer_gets_in_class_what_it_gets_at_home(name, tmp_path):
    one, misjudged = exercises.all_exercises()[name][1], []
    with LearnerProcess(tmp_path, Unprotected()) as process:
        for source in exercises.given(name):
            process.run(source, 100)
        for code, mistake in kept(name):
            process.run(f"{one.answer} = None", 100)  # where the code fails, no earlier answer is judged
            process.run(code, 100)
            report = EXERCISES[name].check(process.answer(one.answer), seed=0)
            due = DIFFER.get((name, mistake), mistake)
            if (report.mistake or "") != due or (report.score == 1) == bool(mistake):
                misjudged.append(f"{code}\nshould be {mistake or 'right'}:\n{report.text}")
    assert misjudged == []
