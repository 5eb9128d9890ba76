"""Exercise start.as_batch: one image or many, always as a batch."""

import torch

from vit_course.checks.tools.common import given
from vit_course.checks.tools.functions import keeps_dtype, same_function
from vit_course.checks.tools.mistakes import Mistake
from vit_course.checks.tools.tensors import agree


def as_batch(answer, draw):
    """`answer(images)`: (C, H, W) or (B, C, H, W) -> (B, C, H, W), one image being a batch of 1."""
    # Apart, so that what is done to one image and what is done to a batch have names of their own. Of either, one is
    # grey and one is square, and one batch holds one image: neither can be told by the length of an axis.
    shapes = [[channels, *draw.sizes(2, low=4)] for channels in (3, 1, 2)]
    side = draw.sizes(1, low=4)[0]
    images = [(draw.normal(*shape),) for shape in (*shapes, [4, side, side])]
    many = [draw.sizes(4, low=4), [1, *draw.sizes(3, low=4)], [3, *draw.sizes(3, low=4)], [5, 1, 4, 6], [2, 3, 7, 7]]
    batches = [(draw.normal(*sizes),) for sizes in many]
    of_one_image = [*_seen_in_results(answer, images[0][0], batches[0][0]), *IMAGE]
    for draws, mistakes in ((images, of_one_image), (batches, BATCH)):
        same_function(answer, _right, draws, mistakes, "(B, C, H, W)")
        keeps_dtype(answer, draws[0], torch.uint8, torch.float64)


def _right(images):
    return images if images.ndim == 4 else images[None]


def _seen_in_results(answer, image, batch) -> list[Mistake]:
    # What can only be seen in what the learner's function gives for other inputs.
    return [
        Mistake(
            "condition-inverted",
            "A batch gets one more axis and a single image gets none: the two cases are swapped.",
            lambda x: x if agree(given(answer, batch), batch[None]) else None,
        ),
        Mistake(
            "image-repeated",
            "A single image comes back as a batch of several copies.",
            lambda x: x.expand(len(given(answer, x)), *x.shape) if len(given(answer, image)) > 1 else None,
        ),
    ]


IMAGE = [
    Mistake("image-unchanged", "A single image comes back unchanged, with three axes.", lambda x: x),
    Mistake("axis-at-the-end", "The new axis is the last one, after the columns.", lambda x: x[..., None]),
    Mistake(
        "axis-after-the-channels",
        "The new axis comes second: each channel has become a separate image.",
        lambda x: x[:, None],
    ),
    Mistake(
        "channels-last",
        "The channels have moved to the end, as in the paper and in matplotlib.",
        lambda x: x.permute(1, 2, 0)[None],
    ),
    Mistake("sides-exchanged", "The height and the width are swapped.", lambda x: x.mT[None]),
    Mistake(
        "told-by-length",
        "One image and a batch are told apart by the length of an axis, which confuses the two here.",
        lambda x: x[None] if x.shape[0] == 3 else x,
        lambda x: x[None] if x.shape[0] == 1 else x,
        lambda x: x[None] if x.shape[0] in (1, 3) else x,
        lambda x: x[None] if x.shape[0] <= 3 else x,
    ),
]

BATCH = [
    Mistake("axis-added-to-a-batch", "A batch gets a fifth axis.", lambda x: x[None]),
    Mistake("only-the-first-image", "Only the first image of a batch comes back.", lambda x: x[:1], lambda x: x[0]),
    Mistake(
        "channels-last",
        "The channels of a batch have moved to the end, as in the paper and in matplotlib.",
        lambda x: x.permute(0, 2, 3, 1),
    ),
    Mistake(
        "told-by-length",
        "One image and a batch are told apart by the length of an axis, which confuses the two here.",
        lambda x: x if x.shape[1] == 3 else x[None],
        lambda x: x if x.shape[1] in (1, 3) else x[None],
        lambda x: x[None] if x.shape[0] <= 4 else x,
        lambda x: x[None] if x.shape[0] == 1 else x,
        lambda x: x[None] if x.shape[0] in (1, 3) else x,
    ),
]
