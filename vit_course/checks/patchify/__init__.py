"""Checks of chapter 01: patches and patch tokens."""

from vit_course.checks.exercise import exercises_in

__all__ = exercises_in(__name__)
