"""Checks of chapter 01: patches and patch tokens."""

# In the order of the chapter: the table of progress has the same.
# isort: off
from vit_course.checks.patchify.count import count
from vit_course.checks.patchify.video import video
from vit_course.checks.patchify.pixel import pixel
from vit_course.checks.patchify.embedding import embedding
from vit_course.checks.patchify.cuts import cuts

__all__ = ["count", "cuts", "embedding", "pixel", "video"]
