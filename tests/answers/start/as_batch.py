"""Answers to exercise start.as_batch."""

import torch
from einops import rearrange

from answers import right, unforeseen, wrong


@right("start.as_batch")
def by_axes(images):
    return images.unsqueeze(0) if images.dim() == 3 else images


@right("start.as_batch")
def by_reshape(images):
    return images.reshape(-1, *images.shape[-3:])


@right("start.as_batch")
def by_stack(images):
    if len(images.shape) == 4:
        return images
    return torch.stack([images])


@right("start.as_batch")
def by_einops(images):
    return rearrange(images, "... c h w -> (...) c h w")


@right("start.as_batch")
def by_unflatten(images):
    return images if images.ndim > 3 else images.unflatten(0, (1, -1))


@right("start.as_batch")
def one_by_one(images):
    return torch.stack([image for image in (images if images.ndim == 4 else [images])])


@wrong("start.as_batch", "image-unchanged")
def unchanged(images):
    return images


@wrong("start.as_batch", "axis-added-to-a-batch")
def always(images):
    return images[None]


@wrong("start.as_batch", "axis-at-the-end")
def at_the_end(images):
    return images if images.ndim == 4 else images.unsqueeze(-1)


@wrong("start.as_batch", "axis-after-the-channels")
def second(images):
    return images if images.ndim == 4 else images.unsqueeze(1)


@wrong("start.as_batch", "axis-after-the-rows")
def third(images):
    return images if images.ndim == 4 else images.unsqueeze(2)


@wrong("start.as_batch", "two-axes-added")
def two_axes(images):
    return images if images.ndim == 4 else images[None, None]


@wrong("start.as_batch", "channels-last")
def as_in_matplotlib(images):
    return images if images.ndim == 4 else rearrange(images, "c h w -> 1 h w c")


@wrong("start.as_batch", "reshaped-to-channels-last")
def torn(images):
    if images.ndim == 4:
        return images
    C, H, W = images.shape
    return images.view(1, H, W, C)


@wrong("start.as_batch", "image-repeated")
def repeated(images):
    return images if images.ndim == 4 else images.repeat(4, 1, 1, 1)


@wrong("start.as_batch", "image-repeated")
def expanded(images):
    return images if images.ndim == 4 else images.expand(len(images), -1, -1, -1)


@wrong("start.as_batch", "told-by-length")
def three_channels(images):
    return images.unsqueeze(0) if images.shape[0] == 3 else images


@wrong("start.as_batch", "told-by-length")
def grey_or_colour(images):
    return images.unsqueeze(0) if images.shape[0] in (1, 3) else images


@wrong("start.as_batch", "told-by-length")
def grey_or_any(images):
    return images[None] if images.ndim == 3 or images.shape[0] in (1, 3) else images


@wrong("start.as_batch", "only-the-first-image")
def first(images):
    return images[:1] if images.ndim == 4 else images[None]


@wrong("start.as_batch", "only-the-first-image")
def first_alone(images):
    return images[0] if images.ndim == 4 else images[None]


@wrong("start.as_batch", "batch-merged-into-channels")
def merged(images):
    return images.reshape(1, -1, *images.shape[-2:])


@wrong("start.as_batch", "axis-after-the-batch")
def inside(images):
    return torch.stack([image[None] for image in images]) if images.ndim == 4 else images[None]


@wrong("start.as_batch", "batch-of-one-squeezed")
def squeezed(images):
    return images.squeeze(0) if images.ndim == 4 else images[None]


@wrong("start.as_batch", "hard-coded-size")
def always_colour(images):
    return images if images.ndim == 4 else images.reshape(1, 3, *images.shape[1:])


@wrong("start.as_batch", "input-changed")
def in_place(images):
    return images.unsqueeze_(0) if images.ndim == 3 else images


@wrong("start.as_batch", "gradient-cut")
def copied(images):
    images = images.detach().clone()
    return images if images.ndim == 4 else images[None]


@wrong("start.as_batch", "numpy-array")
def as_array(images):
    images = images.detach().numpy()
    return images if images.ndim == 4 else images[None]


@wrong("start.as_batch", "returned-nothing")
def without_return(images):
    if images.ndim == 3:
        images = images[None]


@wrong("start.as_batch", "backwards")
def upside_down(images):
    return by_axes(images).flip(2)


@wrong("start.as_batch", "sides-exchanged")
def transposed(images):
    return by_axes(images).mT


@wrong("start.as_batch", "only-the-last-image")
def last_of_a_batch(images):
    return images[-1:] if images.ndim == 4 else images[None]


@wrong("start.as_batch", "condition-inverted")
def inverted(images):
    return images[None] if images.ndim == 4 else images


@wrong("start.as_batch", "axis-of-one-dropped")
def squeezed_at_the_end(images):
    return by_axes(images).squeeze()


@wrong("start.as_batch", "axis-of-one-dropped")
def grey_channel_squeezed(images):
    return images[None] if images.ndim == 3 else images.squeeze(1)


@wrong("start.as_batch", "told-by-length")
def few_channels_second(images):
    return images if images.shape[1] in (1, 3) else images[None]


@wrong("start.as_batch", "grey-repeated")
def grey_as_colour(images):
    images = by_axes(images)
    return images.expand(-1, 3, -1, -1) if images.shape[1] == 1 else images


@wrong("start.as_batch", "scaled")
def from_bytes(images):
    return by_axes(images) / 255


@unforeseen("start.as_batch")
def one_step_on(images):
    return by_axes(images).roll(1, dims=2)


@wrong("start.as_batch", "axis-of-one")
def squeezed_first(images):
    images = images.squeeze()
    return images[None] if images.ndim == 3 else images


@wrong("start.as_batch", "batch-of-several")
def one_image_by_reshape(images):
    return images.reshape(1, *images.shape[-3:])
