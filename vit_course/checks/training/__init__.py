"""Checks of chapter 07: the evaluation, a step, decay groups, curves, an experiment."""

from vit_course.checks.exercise import exercises_in

__all__ = exercises_in(__name__)
