"""Exercise encoder.predict: predictions of what a change to the block does."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import worked_out


@exercise("5.3", "What a change does", "The parts", difficulty=3, minutes=12)
def predict(answer, parts):
    """`answer()` -> {"equal_numbers", "pre_norm_plus_5", "post_norm_plus_5", "pre_norm_times_10", ...}."""
    worked_out(__name__, answer, parts)
