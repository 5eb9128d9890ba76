"""Checks of chapter 07: the evaluation, a step, decay groups, curves, an experiment."""

# In the order of the chapter: the table of progress has the same.
# isort: off
from vit_course.checks.training.accuracy import accuracy
from vit_course.checks.training.step import step
from vit_course.checks.training.groups import groups
from vit_course.checks.training.curves import curves
from vit_course.checks.training.seeds import seeds

__all__ = ["accuracy", "curves", "groups", "seeds", "step"]
