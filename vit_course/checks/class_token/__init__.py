"""Checks of chapter 02: the class token."""

# In the order of the chapter: the table of progress has the same.
# isort: off
from vit_course.checks.class_token.padded import padded
from vit_course.checks.class_token.module import module
from vit_course.checks.class_token.reached import reached
from vit_course.checks.class_token.rates import rates

__all__ = ["module", "padded", "rates", "reached"]
