"""Checks of chapter 03: position embeddings."""

# In the order of the chapter: the table of progress has the same.
# isort: off
from vit_course.checks.positions.shuffle import shuffle
from vit_course.checks.positions.reads_order import reads_order
from vit_course.checks.positions.mended import mended
from vit_course.checks.positions.sincos import sincos
from vit_course.checks.positions.patch_sizes import patch_sizes

__all__ = ["mended", "patch_sizes", "reads_order", "shuffle", "sincos"]
