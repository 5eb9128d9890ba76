"""Exercise training.curves: what five loss curves say."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import worked_out


@exercise("7.4", "Five curves", "What can go wrong", difficulty=2, minutes=8)
def curves(answer, parts):
    """`answer()` -> {"run_a", ... "run_e", "keep_d"}: one of five options each, and an epoch."""
    worked_out(__name__, answer, parts)
