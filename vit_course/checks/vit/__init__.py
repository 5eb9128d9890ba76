"""Checks of chapter 06: predictions, batch mates, a whole model, an experiment with the head."""

from vit_course.checks.exercise import exercises_in

__all__ = exercises_in(__name__)
