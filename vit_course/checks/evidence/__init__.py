"""Checks of chapter 09: what attention maps are evidence for."""

from vit_course.checks.exercise import exercises_in

__all__ = exercises_in(__name__)
