"""Checks of chapter 10: published weights."""

from vit_course.checks.exercise import exercises_in

__all__ = exercises_in(__name__)
