"""Checks of chapter 02: the class token."""

from vit_course.checks.exercise import exercises_in

__all__ = exercises_in(__name__)
