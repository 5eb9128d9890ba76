"""Exercise start.as_batch: one image or many, always as a batch."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import Mistake, one_mistake, same_function
from vit_course.checks.tools.tensors import agree
from vit_course.checks.tools.usual import given, usual_slips
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
    same_function(answer, _right, images, axes="(B, C, H, W)", mistakes=_of_an_image(answer, images, *batches[0]))
    same_function(answer, _right, batches, axes="(B, C, H, W)", mistakes=_of_a_batch(answer, batches))


def _of_an_image(answer, images, batch) -> list[Mistake]:
    def inverted(x):
        return x if agree(given(answer, batch.clone()), batch[None]) else x[None]

    return [
        Mistake(
            "condition-inverted",
            "A batch gets one more axis and a single image gets none: the two have changed places.",
            inverted,
        ),
        Mistake("image-unchanged", "A single image comes back with three axes, as it went in.", lambda x: x),
        Mistake("axis-at-the-end", "The new axis is the last one, behind the columns.", lambda x: x[..., None]),
        Mistake(
            "axis-after-the-channels",
            "The new axis comes second: each channel has become an image of its own.",
            lambda x: x[:, None],
        ),
        Mistake(
            "axis-after-the-rows",
            "The new axis comes third, between the rows and the columns.",
            lambda x: x[:, :, None],
        ),
        Mistake("two-axes-added", "A single image gets two new axes where one is missing.", lambda x: x[None, None]),
        Mistake(
            "channels-last",
            "The channels have gone to the end, the order of the paper and of matplotlib.",
            lambda x: x.permute(1, 2, 0)[None],
        ),
        Mistake(
            "reshaped-to-channels-last",
            "A reshape has put the channels last: it does not move a number, so the pixels are torn apart.",
            lambda x: x.reshape(1, x.shape[1], x.shape[2], x.shape[0]),
        ),
        *one_mistake(
            "sides-exchanged",
            "The height and the width have changed places.",
            lambda x: x.mT[None],
            lambda x: x.reshape(1, x.shape[0], x.shape[2], x.shape[1]),
        ),
        *one_mistake(
            "axis-of-one-dropped",
            "An axis whose length is 1 is dropped, be it that of the batch or that of a grey picture's channel.",
            lambda x: x[None].squeeze(),
            lambda x: x.squeeze()[None],
            lambda x: x[None].squeeze(1),
            lambda x: x.squeeze(),
        ),
        Mistake(
            "grey-repeated",
            "A grey picture comes back with three channels.",
            lambda x: x[None].expand(-1, 3, -1, -1) if len(x) == 1 else x[None],
        ),
        *_told_by_length(),
        *usual_slips(answer, _right, images),
    ]


def _of_a_batch(answer, batches) -> list[Mistake]:
    return [
        Mistake("axis-added-to-a-batch", "A batch gets one more axis, its fifth.", lambda x: x[None]),
        *one_mistake(
            "only-the-first-image",
            "Of a batch, only the first image comes back.",
            lambda x: x[:1],
            lambda x: x[0],
        ),
        Mistake(
            "batch-merged-into-channels",
            "A batch comes back as one image that has the channels of all of them.",
            lambda x: x.reshape(1, -1, *x.shape[2:]),
        ),
        Mistake("axis-after-the-batch", "A batch gets one more axis, behind its first.", lambda x: x[:, None]),
        Mistake(
            "batch-of-one-squeezed",
            "A batch of one image loses its batch axis: an axis of length 1 is an axis.",
            lambda x: x.squeeze(0),
        ),
        Mistake(
            "channels-last",
            "The channels of a batch have gone to the end, the order of the paper and of matplotlib.",
            lambda x: x.permute(0, 2, 3, 1),
        ),
        Mistake(
            "batch-and-channels-exchanged",
            "In a batch, the images and the channels have changed places.",
            lambda x: x.transpose(0, 1),
        ),
        Mistake(
            "grey-repeated",
            "A batch of grey pictures comes back with three channels.",
            lambda x: x.expand(-1, 3, -1, -1) if x.shape[1] == 1 else x,
        ),
        *_told_by_length(),
        *usual_slips(answer, _right, batches),
    ]


def _told_by_length() -> list[Mistake]:
    def where(is_image):
        return lambda images: images[None] if is_image(images.shape) else images

    return one_mistake(
        "told-by-length",
        "One image and a batch are told apart by how long an axis is; here that takes one for the other.",
        *(where(lambda shape, known=known: shape[0] in known) for known in ((3,), (1,), (1, 3))),
        *(where(lambda shape, known=known: shape[1] not in known) for known in ((3,), (1,), (1, 3))),
        *(where(lambda shape, most=most: shape[0] <= most) for most in (3, 4, 10)),
        where(lambda shape: shape[1] == shape[2]),
        where(lambda shape: shape[-2] == shape[-1]),
        where(lambda shape: len(shape) == 3 or shape[0] == 1),
        where(lambda shape: len(shape) == 3 or shape[0] in (1, 3)),
    )


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
