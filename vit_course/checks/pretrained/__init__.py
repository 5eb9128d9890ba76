"""Checks of chapter 10: published weights."""

# In the order of the chapter: the table of progress has the same.
# isort: off
from vit_course.checks.pretrained.jax import jax
from vit_course.checks.pretrained.mended import mended
from vit_course.checks.pretrained.unchanged import unchanged
from vit_course.checks.pretrained.blocks import blocks

__all__ = ["blocks", "jax", "mended", "unchanged"]
