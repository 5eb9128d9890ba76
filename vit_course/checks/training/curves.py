"""Exercise training.curves: what five loss curves say."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import by_answer


@exercise("7.4", "Five curves", section="Reading curves", difficulty=2, minutes=8)
def curves(answer, parts):
    """`answer()` -> {"run_a", ... "run_e", "keep_d"}: one of five options each, and an epoch."""
    # What the runs were: a softmax as last layer; rate 1 without warm-up and clipping; shifts and dropout;
    # 60 training images; width 4 at half the rate. All on the digits, with the recipe of the chapter.
    same_answers(
        call(answer),
        {
            "run_a": "softmax twice",
            "run_b": "divergence",
            "run_c": "healthy",
            "run_d": "over-fitting",
            "run_e": "under-fitting",
            "keep_d": 20,
        },
        parts,
        mistakes=by_answer(__name__, "by-hand"),
    )
