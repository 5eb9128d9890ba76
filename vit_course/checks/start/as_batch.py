"""Exercise start.as_batch: one image or many, always as a batch."""

import torch

from vit_course.checks.tools.common import given
from vit_course.checks.tools.functions import keeps_dtype, same_function
from vit_course.checks.tools.mistakes import Slip, wrong_functions
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
    for draws, slips in ((images, _of_one_image(answer, images, batches)), (batches, BATCH)):
        same_function(answer, _right, draws, wrong_functions(slips), "(B, C, H, W)")
        keeps_dtype(answer, draws[0], torch.uint8, torch.float64)


def _right(images):
    return images if images.ndim == 4 else images[None]


def _of_one_image(answer, images, batches) -> list[Slip]:
    return [
        Slip(
            "condition-inverted",
            "A batch gets one more axis and a single image gets none: the two cases are swapped.",
            lambda x: x if agree(given(answer, *batches[0]), batches[0][0][None]) else None,
        ),
        Slip("image-unchanged", "A single image comes back unchanged, with three axes.", lambda x: x),
        Slip(
            "image-repeated",
            "A single image comes back as a batch of several copies.",
            lambda x: x.expand(len(given(answer, x)), *x.shape) if len(given(answer, *images[0])) > 1 else None,
        ),
        Slip("axis-at-the-end", "The new axis is the last one, after the columns.", lambda x: x[..., None]),
        Slip(
            "axis-after-the-channels",
            "The new axis comes second: each channel has become a separate image.",
            lambda x: x[:, None],
        ),
        Slip(
            "channels-last",
            "The channels have moved to the end, as in the paper and in matplotlib.",
            lambda x: x.permute(1, 2, 0)[None],
        ),
        Slip(
            "reshaped-to-channels-last",
            "A reshape has put the channels last: it does not move any numbers, so the pixels are torn apart.",
            lambda x: x.reshape(1, x.shape[1], x.shape[2], x.shape[0]),
        ),
        Slip("sides-exchanged", "The height and the width are swapped.", lambda x: x.mT[None]),
        Slip(
            "axis-of-one-dropped",
            "Axes of length 1 are dropped: the batch axis, or the channel axis of a grey picture.",
            lambda x: x[None].squeeze(),
            lambda x: x.squeeze()[None],
            lambda x: x[None].squeeze(1),
            lambda x: x.squeeze(),
        ),
        Slip(
            "told-by-length",
            "One image and a batch are told apart by the length of an axis, which confuses the two here.",
            lambda x: x[None] if x.shape[0] == 3 else x,
            lambda x: x[None] if x.shape[0] == 1 else x,
            lambda x: x[None] if x.shape[0] in (1, 3) else x,
            lambda x: x[None] if x.shape[0] <= 3 else x,
            lambda x: x[None] if x.shape[1] == x.shape[2] else x,
        ),
        Slip(
            "grey-repeated",
            "A grey picture comes back with three channels.",
            lambda x: x[None].expand(-1, 3, -1, -1) if len(x) == 1 else x[None],
        ),
    ]


BATCH = [
    Slip("axis-added-to-a-batch", "A batch gets a fifth axis.", lambda x: x[None]),
    Slip("only-the-first-image", "Only the first image of a batch comes back.", lambda x: x[:1], lambda x: x[0]),
    Slip(
        "batch-merged-into-channels",
        "A batch comes back as one image with the channels of all its images.",
        lambda x: x.reshape(1, -1, *x.shape[2:]),
    ),
    Slip(
        "axis-of-one-dropped",
        "A batch of one image loses its batch axis: an axis of length 1 is still an axis.",
        lambda x: x.squeeze(0),
    ),
    Slip(
        "channels-last",
        "The channels of a batch have moved to the end, as in the paper and in matplotlib.",
        lambda x: x.permute(0, 2, 3, 1),
    ),
    Slip(
        "told-by-length",
        "One image and a batch are told apart by the length of an axis, which confuses the two here.",
        lambda x: x if x.shape[1] == 3 else x[None],
        lambda x: x if x.shape[1] == 1 else x[None],
        lambda x: x if x.shape[1] in (1, 3) else x[None],
        lambda x: x[None] if x.shape[0] <= 4 else x,
        lambda x: x[None] if x.shape[0] <= 10 else x,
        lambda x: x[None] if x.shape[0] == 1 else x,
        lambda x: x[None] if x.shape[0] in (1, 3) else x,
    ),
]
