"""The course as a folder of web pages, made from the stored outputs; nothing is executed."""

from vit_course.site.build import build

__all__ = ["build"]
