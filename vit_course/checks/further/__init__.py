"""Checks of chapter 11: shares of a batch, gradients put together, a step in parts, a larger batch, rotary
positions on a grid."""

from vit_course.checks.exercise import exercises_in

__all__ = exercises_in(__name__)
