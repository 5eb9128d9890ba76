"""The learner's own copy of the chapters: without results, and never overwritten."""

from vit_course.teaching.learner.folder import fresh, open_folder

__all__ = ["fresh", "open_folder"]
