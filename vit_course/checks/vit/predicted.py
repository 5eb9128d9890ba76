"""Exercise vit.predicted: predictions about a new model."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import worked_out


@exercise("6.1", "Predictions about a new model", "How large is it?", difficulty=1, minutes=8)
def predicted(answer, parts):
    """`answer()` -> {"features", "first_loss", "large_head", "parameters", "multiply_adds"}.

    Images of 48 x 32 pixels, P = 8, D = 96, L = 2, h = 4, M = 384, K = 20, batches of 4.
    """
    worked_out(__name__, answer, parts)
