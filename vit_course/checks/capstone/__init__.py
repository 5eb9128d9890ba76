"""Checks of chapter 12: the whole Vision Transformer, part by part, then trained."""

# In the order of the chapter: the table of progress has the same.
# isort: off
from vit_course.checks.capstone.patches import patches
from vit_course.checks.capstone.tokens import tokens
from vit_course.checks.capstone.attention import attention
from vit_course.checks.capstone.block import block
from vit_course.checks.capstone.vit import vit
from vit_course.checks.capstone.trained import trained

__all__ = ["attention", "block", "patches", "tokens", "trained", "vit"]
