"""Checks of chapter 00: one image or many, sizes by hand, an experiment on the forty lines."""

# In the order of the chapter: the table of progress has the same.
# isort: off
from vit_course.checks.start.as_batch import as_batch
from vit_course.checks.start.sizes import sizes
from vit_course.checks.start.removed import removed

__all__ = ["as_batch", "removed", "sizes"]
