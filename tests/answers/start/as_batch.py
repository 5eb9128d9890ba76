"""Answers to exercise start.as_batch."""

import torch
from einops import rearrange

from answers import UNKNOWN, Answers

answers = Answers("start.as_batch")

answers.edits(
    ("condition-inverted", "== 3", "== 4"),
)


@answers.right
def by_reshape(images):
    return images.reshape(-1, *images.shape[-3:])


@answers.right
def by_einops(images):
    return rearrange(images, "... c h w -> (...) c h w")


@answers.right
def by_stack(images):
    return torch.stack([image for image in (images if images.dim() == 4 else [images])])


@answers.wrong("told-by-length")
def by_the_first_axis(images):
    return images.unsqueeze(0) if images.shape[0] == 3 else images


@answers.wrong("axis-of-one-dropped")
def squeezed(images):
    if images.ndim == 3:
        images = images[None]
    return images.squeeze(1)


@answers.wrong("image-repeated")
def repeated(images):
    if images.ndim == 3:
        images = images.repeat(4, 1, 1, 1)
    return images


@answers.wrong(UNKNOWN)
def rolled(images):
    if images.ndim == 3:
        images = images[None]
    return images.roll(1, dims=2)
