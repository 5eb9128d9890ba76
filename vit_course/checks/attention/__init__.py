"""Checks of chapter 04: attention weights, heads, self-attention."""

# In the order of the chapter: the table of progress has the same.
# isort: off
from vit_course.checks.attention.weights import weights
from vit_course.checks.attention.mended import mended
from vit_course.checks.attention.unnoticed import unnoticed
from vit_course.checks.attention.how_many_heads import how_many_heads

__all__ = ["how_many_heads", "mended", "unnoticed", "weights"]
