"""Checks of chapter 08: attention maps, recorded, drawn and combined."""

from vit_course.checks.exercise import exercises_in

__all__ = exercises_in(__name__)
