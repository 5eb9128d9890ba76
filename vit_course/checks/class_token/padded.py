"""Exercise class_token.padded: the mean of the patches that are real, where images were padded."""

import torch
import torch.nn.functional as F

from vit_course.checks.tools.functions import keeps_dtype, same_function
from vit_course.checks.tools.mistakes import Mistake


def padded(answer, draw):
    """`answer(z, real)`: (B, T, D) with a class token in front, bool (B, N) -> (B, D), each image's own mean."""
    draws = []
    for batch, patches, width in (draw.sizes(3, low=4), draw.sizes(3, low=4), (3, 5, 1)):
        draws.append((draw.normal(batch, 1 + patches, width), _masks(draw, batch, patches)))
    # All patches of all images are real; then a single image, a single patch, and one number a token.
    draws.append((draw.normal(2, 5, 3), torch.ones(2, 4, dtype=torch.bool)))
    draws.append((draw.normal(1, 2, 1), torch.ones(1, 1, dtype=torch.bool)))
    same_function(answer, right, draws, MISTAKES, "(B, D)")
    keeps_dtype(answer, draws[0], torch.float64)


def _masks(draw, batch: int, patches: int) -> torch.Tensor:
    # (B, N): 2, 3, ... of the patches are real, at other places in each image; of the last image all of them.
    real = torch.zeros(batch, patches, dtype=torch.bool)
    for image in range(batch):
        count = patches if image == batch - 1 else 2 + image % (patches - 2)
        real[image, draw.permutation(patches)[:count]] = True
    real[0, 0], real[0, -1] = False, True  # neither the first ones nor all but the last
    return real


def _count(kept):
    return kept.sum(dim=1, keepdim=True)


def right(z, real, read=lambda z: z[:, 1:], mask=torch.Tensor.float, count=_count):
    """(B, D): the tokens that are read, added up by a mask (B, N) and divided by a count of it."""
    kept = mask(real).float()
    return (read(z) * kept[..., None]).sum(dim=1) / count(kept)


MISTAKES = [
    Mistake(
        "divided-by-all",
        "The sum over the real patches is divided by the number of all patches.",
        {"count": lambda kept: kept.shape[1]},
    ),
    Mistake(
        "sum-of-patches",
        "The sum over the real patches is returned; it grows with their number.",
        {"count": lambda kept: 1},
    ),
    Mistake(
        "divided-by-tokens",
        "The sum over the real patches is divided by the number of all tokens.",
        {"count": lambda kept: kept.shape[1] + 1},
    ),
    Mistake(
        "count-of-one-too-many",
        "The sum over the real patches is divided by their number plus one.",
        {"count": lambda kept: _count(kept) + 1},
    ),
    Mistake(
        "one-count-for-all",
        "Each sum is divided by the same count, but the images have different counts.",
        {"count": torch.sum},
        {"count": lambda kept: _count(kept).mean()},
        {"count": lambda kept: kept[0].sum()},
    ),
    Mistake(
        "shifted-by-one",
        "The mask is one token early: its first entry is for patch 0, but here it is applied to the class token.",
        {"read": lambda z: z[:, :-1]},
    ),
    Mistake("padding-counted", "The mean includes the padded patches.", {"mask": torch.ones_like}),
    Mistake(
        "mask-inverted",
        "This is the mean of the padded patches.",
        {"mask": torch.logical_not},
        lambda z, real: right(z, ~real).nan_to_num(),  # without padding, 0
    ),
    Mistake(
        "first-ones-taken",
        "As many tokens as there are real ones are taken from the front, but the real ones may be anywhere.",
        {"mask": lambda real: torch.arange(real.shape[1]) < real.sum(dim=1, keepdim=True)},
    ),
    Mistake(
        "one-mask-for-all",
        "One mask is used for all images: that of the first image, or a combination of all masks.",
        {"mask": lambda real: real[:1].expand_as(real)},
        {"mask": lambda real: real.all(dim=0).expand_as(real)},
    ),
    Mistake(
        "class-token-in-mean",
        "The mean includes the class token and the padded patches.",
        lambda z, real: z.mean(dim=1),
    ),
    Mistake(
        "class-token-in-mean",
        "The class token is counted as if it were a patch.",
        lambda z, real: right(z, F.pad(real, (1, 0), value=True), read=lambda z: z),
    ),
    Mistake(
        "class-token-in-sum",
        "The class token is in the sum, but not in the count.",
        lambda z, real: right(z, real) + z[:, 0] / _count(real),
    ),
    Mistake(
        "images-mixed",
        "The real patches of all images are averaged together.",
        lambda z, real: z[:, 1:][real].mean(dim=0),
        lambda z, real: z[:, 1:][real].mean(dim=0).expand(len(z), -1),
    ),
    Mistake("class-token-read", "The class token is returned.", lambda z, real: z[:, 0]),
    Mistake("axis-kept", "The axis of tokens is still there, with length 1.", lambda z, real: right(z, real)[:, None]),
    Mistake(
        "summed-over-the-width",
        "The numbers of each token are summed: that is the axis D, not the axis of the tokens.",
        lambda z, real: (z[:, 1:] * real[..., None]).sum(dim=2),
        lambda z, real: (z[:, 1:] * real[..., None]).sum(dim=2) / _count(real),
        lambda z, real: z[:, 1:][real].mean(dim=1),
    ),
    Mistake(
        "largest-taken",
        "The maximum over the real patches is returned, not their mean.",
        lambda z, real: z[:, 1:].masked_fill(~real[..., None], -torch.inf).amax(dim=1),
    ),
    Mistake(
        "median-taken",
        "The median of the real patches is returned, not their mean.",
        lambda z, real: torch.stack([x[1:][m].median(dim=0).values for x, m in zip(z, real, strict=True)]),
    ),
    Mistake(
        "softmax-of-the-mask",
        "The weights are a softmax over zeros and ones, which still gives the padded patches a share.",
        lambda z, real: (real.float().softmax(dim=1)[..., None] * z[:, 1:]).sum(dim=1),
    ),
]
