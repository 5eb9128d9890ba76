"""Checks of chapter 12: the whole Vision Transformer, part by part, then trained."""

from vit_course.checks.exercise import exercises_in

__all__ = exercises_in(__name__)
