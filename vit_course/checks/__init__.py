"""Checks of the exercises: `checks.attention.weights(my_weights)` says what was done wrong.

Each takes the learner's object and returns a `Report` with `.status`, `.mistake`, `.score` and a text. It never
raises, whatever it is given. `checks.progress()` shows how far you are. Both are a panel or a table as the last line
of a notebook's cell, and text in `print`.
"""

from vit_course.inputs.extras import extra

with extra("course", "checking exercises"):
    # In the order of the chapters: the table of progress has the same.
    # isort: off
    from vit_course.checks import start, patchify, class_token, positions, attention, encoder, vit, training, maps
    from vit_course.checks import evidence, pretrained, further, capstone

    # isort: on
    from vit_course.checks.cells import watch
    from vit_course.checks.exercise import EXERCISES
    from vit_course.checks.guess import guessed
    from vit_course.checks.table import progress

__all__ = [
    "EXERCISES",
    "attention",
    "capstone",
    "class_token",
    "encoder",
    "evidence",
    "further",
    "guessed",
    "maps",
    "patchify",
    "positions",
    "pretrained",
    "progress",
    "start",
    "training",
    "vit",
]

watch()
