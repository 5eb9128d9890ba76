"""The table of what is done, over all chapters."""

from itertools import groupby

from vit_course.checks import scores
from vit_course.checks.exercise import EXERCISES


def progress() -> str:
    """The table: a row a chapter, with a mark for each exercise, and the sum."""
    best, message = scores.read()
    lines = ["[x] passed   [/] in part   [ ] open", ""]
    done = 0
    for chapter, group in groupby(EXERCISES.values(), key=lambda one: one.chapter):
        exercises = list(group)
        passed = sum(best.get(one.name, 0.0) == 1.0 for one in exercises)
        done += passed
        marks = "  ".join(f"{_mark(best.get(one.name, 0.0))} {one.name.split('.')[1]}" for one in exercises)
        lines.append(f"{chapter:12} {passed} of {len(exercises)}   {marks}")
    lines += ["", f"{done} of {len(EXERCISES)} exercises passed"]
    return "\n".join([*lines, message] if message else lines)


def _mark(score: float) -> str:
    return "[x]" if score == 1.0 else "[/]" if score > 0 else "[ ]"
