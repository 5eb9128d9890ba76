"""Checks of chapter 10: published weights."""

# In the order of the chapter: the table of progress has the same.
# isort: off
from vit_course.checks.pretrained.qkv import qkv
from vit_course.checks.pretrained.block import block
from vit_course.checks.pretrained.mended import mended

__all__ = ["block", "mended", "qkv"]
