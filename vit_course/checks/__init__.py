"""Checks of the exercises: `checks.attention.weights(my_weights)` says what was done wrong.

Each takes the learner's object and returns a `Report` with `.status`, `.mistake`, `.score` and a text. It never
raises, whatever it is given. `checks.progress()` shows how far you are. Both are a panel or a table as the last line
of a notebook's cell, and text in `print`.
"""

from vit_course._support.inputs.extras import extra

with extra("course", "checking exercises"):
    from vit_course.checks.exercise import EXERCISES, load_exercises
    from vit_course.checks.guess import guessed
    from vit_course.checks.kernel_watch import watch
    from vit_course.checks.progress_table import progress

    FOLDERS = load_exercises(__name__)
watch()

__all__ = [*FOLDERS, "EXERCISES", "guessed", "progress"]
