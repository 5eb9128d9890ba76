"""Exercise start.as_batch: one image or many, always as a batch."""

import contextlib

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.table import table
from vit_course.checks.tools.tensors import agree
from vit_course.checks.tools.usual import given
from vit_course.checks.tools.words import describe


def _right(images):
    return images if images.ndim == 4 else images[None]


@exercise("0.1", "One image or many", section="From a picture to an answer", difficulty=1, minutes=5)
def as_batch(answer, draw):
    """`answer(images)`: (C, H, W) or (B, C, H, W) -> (B, C, H, W), one image being a batch of 1."""
    # Apart, so that what is done to one image and what is done to a batch have names of their own. Of either, one is
    # grey and one is square, and one batch holds one image: neither can be told by the length of an axis.
    shapes = [[channels, *draw.sizes(2, low=4)] for channels in (3, 1, 2)]
    side = draw.sizes(1, low=4)[0]
    images = [(draw.normal(*shape),) for shape in (*shapes, [4, side, side])]
    many = [draw.sizes(4, low=4), [1, *draw.sizes(3, low=4)], [3, *draw.sizes(3, low=4)], [5, 1, 4, 6], [2, 3, 7, 7]]
    batches = [(draw.normal(*sizes),) for sizes in many]
    _repeated(call(answer, images[0][0].clone()), *images[0])
    inverted = _inverted(answer, *batches[0])
    for draws, name in ((images, "image"), (batches, "batch")):
        mistakes = [*table(__name__, name, seen=locals()), *table(__name__, "told-by-length")]
        same_function(answer, _right, draws, axes="(B, C, H, W)", mistakes=mistakes)


def _repeated(received, image) -> None:
    # How often somebody repeats the image is free, so no function stands for this mistake.
    if not isinstance(received, torch.Tensor) or received.shape[1:] != image.shape or len(received) < 2:
        return
    if all(agree(each, image) for each in received):
        raise Wrong(
            "image-repeated",
            "A single image comes back several times over: a batch of equal images.",
            [
                f"Input:    {describe(image)}",
                f"Expected: {(1, *image.shape)} (B, C, H, W)",
                f"Received: {tuple(received.shape)}",
            ],
        )


def _inverted(answer, batch) -> bool:
    with contextlib.suppress(LookupError):
        return agree(given(answer, batch.clone()), batch[None])
    return False
