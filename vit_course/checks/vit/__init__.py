"""Checks of chapter 06: predictions, batch mates, a whole model, an experiment with the head."""

# In the order of the chapter: the table of progress has the same.
# isort: off
from vit_course.checks.vit.predicted import predicted
from vit_course.checks.vit.independent import independent
from vit_course.checks.vit.mended import mended
from vit_course.checks.vit.large_head import large_head

__all__ = ["independent", "large_head", "mended", "predicted"]
