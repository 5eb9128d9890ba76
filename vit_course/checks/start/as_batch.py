"""Exercise start.as_batch: one image or many, always as a batch."""

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.table import table
from vit_course.checks.tools.usual import given

__all__ = ["as_batch", "given"]  # the table asks what the learner's function gives


def as_batch(answer, draw):
    """`answer(images)`: (C, H, W) or (B, C, H, W) -> (B, C, H, W), one image being a batch of 1."""
    # Apart, so that what is done to one image and what is done to a batch have names of their own. Of either, one is
    # grey and one is square, and one batch holds one image: neither can be told by the length of an axis.
    shapes = [[channels, *draw.sizes(2, low=4)] for channels in (3, 1, 2)]
    side = draw.sizes(1, low=4)[0]
    images = [(draw.normal(*shape),) for shape in (*shapes, [4, side, side])]
    many = [draw.sizes(4, low=4), [1, *draw.sizes(3, low=4)], [3, *draw.sizes(3, low=4)], [5, 1, 4, 6], [2, 3, 7, 7]]
    batches = [(draw.normal(*sizes),) for sizes in many]
    for draws, name in ((images, "image"), (batches, "batch")):
        same_function(answer, _right, draws, table(__name__, name, seen=locals()), "(B, C, H, W)")


def _right(images):
    return images if images.ndim == 4 else images[None]
