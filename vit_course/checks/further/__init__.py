"""Checks of chapter 11: shares of a batch, gradients put together, a step in parts, a larger batch, rotary
positions on a grid."""

# In the order of the chapter: the table of progress has the same.
# isort: off
from vit_course.checks.further.gradient import gradient
from vit_course.checks.further.share import share
from vit_course.checks.further.parts import parts
from vit_course.checks.further.batch import batch
from vit_course.checks.further.rotary import rotary

__all__ = ["batch", "gradient", "parts", "rotary", "share"]
