"""Exercise attention.unnoticed: which changes of queries, keys and values the outputs of a head do not show."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import worked_out


@exercise("4.3", "What attention does not notice", "The mechanism", difficulty=2, minutes=10)
def unnoticed(answer, parts):
    """`answer()` -> for each change "same", "moved" or "other", for one of them a number."""
    worked_out(__name__, answer, parts)
