"""Exercise vit.predicted: predictions about a new model."""

import math

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import by_answer


@exercise("6.1", "Predictions about a new model", section="How large is it?", difficulty=1, minutes=8)
def predicted(answer, parts):
    """`answer()` -> {"features", "first_loss", "large_head", "parameters", "multiply_adds"}.

    Images of 48 x 32 pixels, P = 8, D = 96, L = 2, h = 4, M = 384, K = 20, batches of 4.
    """
    right = {
        "features": (4, 6 * 4 + 1, 96),
        "first_loss": math.log(20),
        "large_head": "larger",  # sure of a random class
        "parameters": "a little more",  # the position table alone has a row for each token
        "multiply_adds": "more than four times",  # 4.3, by the chapter's table
    }
    same_answers(call(answer), right, parts, mistakes=by_answer(__name__, "by-hand"))
