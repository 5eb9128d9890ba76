"""Exercise pretrained.unchanged: which changes of the numbers leave a network what it was."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import worked_out


@exercise("10.3", "Other numbers, the same network?", "Find the first difference", difficulty=3, minutes=10)
def unchanged(answer, parts):
    """`answer()` -> {"key_bias", "scaled", "heads", "hidden", "gelu", "norm"}, a bool each."""
    worked_out(__name__, answer, parts)
