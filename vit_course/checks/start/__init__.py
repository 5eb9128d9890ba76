"""Checks of chapter 00: one image or many, sizes by hand, an experiment on the forty lines."""

from vit_course.checks.exercise import exercises_in

__all__ = exercises_in(__name__)
