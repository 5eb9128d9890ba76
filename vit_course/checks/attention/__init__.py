"""Checks of chapter 04: attention weights, heads, self-attention."""

from vit_course.checks.exercise import exercises_in

__all__ = exercises_in(__name__)
