"""Checks of chapter 05: a branch dropped whole, a stack, what a change does, an experiment with a warm-up."""

from vit_course.checks.exercise import exercises_in

__all__ = exercises_in(__name__)
