"""Exercise start.as_batch: one image or many, always as a batch."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import Mistake, one_mistake, same_function
from vit_course.checks.tools.tensors import agree
from vit_course.checks.tools.words import describe


@exercise("One image or many", section="From a picture to an answer", difficulty=1, minutes=5)
def as_batch(answer, draw):
    """`answer(images)`: (C, H, W) or (B, C, H, W) -> (B, C, H, W), one image being a batch of 1."""

    def reference(images):
        return images if images.ndim == 4 else images[None]

    def told_by(*lengths):
        return lambda images: images[None] if len(images) in lengths else images

    # Apart, so that what is done to one image and what is done to a batch have names of their own. The second of the
    # images is grey, one batch holds one image and one holds three: a batch cannot be told by the length of an axis.
    one = [draw.sizes(2, low=4) for _ in range(3)]
    images = [(draw.normal(channels, *sides),) for channels, sides in zip((3, 1, 2), one, strict=True)]
    many = [draw.sizes(4, low=4), [1, *draw.sizes(3, low=4)], [3, *draw.sizes(3, low=4)]]
    batches = [(draw.normal(*sizes),) for sizes in many]
    told = "One image and a batch are told apart by how long an axis is; here that takes one for the other."
    _repeated(call(answer, images[0][0].clone()), *images[0])
    same_function(
        answer,
        reference,
        images,
        axes="(B, C, H, W)",
        mistakes=[
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
            Mistake(
                "two-axes-added", "A single image gets two new axes where one is missing.", lambda x: x[None, None]
            ),
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
            *one_mistake("told-by-length", told, told_by(3), told_by(1), told_by(1, 3)),
        ],
    )
    same_function(
        answer,
        reference,
        batches,
        axes="(B, C, H, W)",
        mistakes=[
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
            *one_mistake("told-by-length", told, told_by(3), told_by(1), told_by(1, 3)),
        ],
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
