"""Checks of chapter 09: what attention maps are evidence for."""

# In the order of the chapter: the table of progress has the same.
# isort: off
from vit_course.checks.evidence.score import score
from vit_course.checks.evidence.held_out import held_out
from vit_course.checks.evidence.predict import predict
from vit_course.checks.evidence.luck import luck

__all__ = ["held_out", "luck", "predict", "score"]
