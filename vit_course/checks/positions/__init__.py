"""Checks of chapter 03: position embeddings."""

from vit_course.checks.exercise import exercises_in

__all__ = exercises_in(__name__)
