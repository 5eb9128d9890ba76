"""Exercise class_token.reached: predictions of which tokens the loss reaches."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import worked_out


@exercise("2.3", "Which tokens does the loss reach?", "Which tokens does the loss reach?", difficulty=3, minutes=10)
def reached(answer, parts):
    """`answer()` -> {"one_patch_in", "patch_mean_out", "patch_mean_in", ...}: numbers of tokens reached."""
    worked_out(__name__, answer, parts)
