"""The exercises as an nbgrader course. nbgrader releases, collects, grades and keeps the gradebook."""

import importlib

from vit_course.inputs.extras import extra

_PLACES = {
    "make_course": "course",
    "HOLE": "exercises",
    "ExerciseCells": "exercises",
    "exercises_of": "exercises",
    "load": "exercises",
    "with_holes": "exercises",
}
__all__ = ["HOLE", "ExerciseCells", "exercises_of", "load", "make_course", "with_holes"]


def __getattr__(name: str):
    # On demand: the process of a learner's code begins here too, and reading notebook files takes seconds to load.
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with extra("classroom", "a classroom"):
        return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
