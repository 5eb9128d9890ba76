"""The course as a folder of web pages, made from the stored outputs; nothing is executed."""

from vit_course.teaching.site.build import build

__all__ = ["build"]
