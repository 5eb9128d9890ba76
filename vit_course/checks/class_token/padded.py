"""Exercise class_token.padded: the mean of the patches that are real, where images were padded."""

import math

import torch
import torch.nn.functional as F

from vit_course.checks.tools.functions import keeps_dtype, same_function
from vit_course.checks.tools.mistakes import Slip, wrong_functions


def padded(answer, draw):
    """`answer(z, real)`: (B, T, D) with a class token in front, bool (B, N) -> (B, D), each image's own mean."""
    draws = []
    for batch, patches, width in (draw.sizes(3, low=4), draw.sizes(3, low=4), (3, 5, 1)):
        draws.append((draw.normal(batch, 1 + patches, width), _masks(draw, batch, patches)))
    # All patches of all images are real; then a single image, a single patch, and one number a token.
    draws.append((draw.normal(2, 5, 3), torch.ones(2, 4, dtype=torch.bool)))
    draws.append((draw.normal(1, 2, 1), torch.ones(1, 1, dtype=torch.bool)))
    same_function(answer, right, draws, wrong_functions(MISTAKES, right, pairs=2), "(B, D)")
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


MISTAKES = {
    "count": [
        Slip(
            "divided-by-all",
            "The sum over the real patches is divided by the number of all patches.",
            lambda kept: kept.shape[1],
        ),
        Slip(
            "sum-of-patches", "The sum over the real patches is returned; it grows with their number.", lambda kept: 1
        ),
        Slip(
            "divided-by-tokens",
            "The sum over the real patches is divided by the number of all tokens.",
            lambda kept: kept.shape[1] + 1,
        ),
        Slip(
            "count-of-one-too-many",
            "The sum over the real patches is divided by their number plus one.",
            lambda kept: _count(kept) + 1,
        ),
        Slip(
            "one-count-for-all",
            "Each sum is divided by the same count, but the images have different counts.",
            torch.sum,
            lambda kept: _count(kept).mean(),
            lambda kept: kept[0].sum(),
            lambda kept: _count(kept).amax(),
        ),
        Slip(
            "count-broadcast-wrongly",
            "The counts (B,) are applied along the last axis of the sums (B, D), but a count belongs to a row.",
            lambda kept: kept.sum(1),
        ),
    ],
    "read": [
        Slip(
            "shifted-by-one",
            "The mask is one token early: its first entry is for patch 0, but here it is applied to the class token.",
            lambda z: z[:, :-1],
        ),
    ],
    "mask": [
        Slip("padding-counted", "The mean includes the padded patches.", torch.ones_like),
        Slip("mask-inverted", "This is the mean of the padded patches.", torch.logical_not),
        Slip(
            "first-ones-taken",
            "As many tokens as there are real ones are taken from the front, but the real ones may be anywhere.",
            lambda real: torch.arange(real.shape[1]) < real.sum(dim=1, keepdim=True),
        ),
        Slip(
            "one-mask-for-all",
            "One mask is used for all images: that of the first image, or a combination of all masks.",
            lambda real: real[:1].expand_as(real),
            lambda real: real.all(dim=0).expand_as(real),
            lambda real: real.any(dim=0).expand_as(real),
        ),
    ],
    "result": [
        Slip(
            "mask-without-third-axis",
            "The mask (B, N) is applied to the patches (B, N, D) without an axis for D.",
            lambda z, real: z[:, 1:] * real,
            lambda z, real: (z[:, 1:] * real.float()).sum(1),
        ),
        Slip(
            "mask-on-all-tokens",
            "The mask has an entry for each patch, but here it is applied to all tokens, including the class token.",
            lambda z, real: right(z, real, read=lambda z: z),
            lambda z, real: z[real].mean(dim=0),
            lambda z, real: z * real[..., None],
            lambda z, real: z.masked_fill(~real[..., None], 0),
        ),
        Slip(
            "class-token-in-mean",
            "The mean includes the class token and the padded patches.",
            lambda z, real: z.mean(dim=1),
        ),
        Slip(
            "class-token-in-mean",
            "The class token is counted as if it were a patch.",
            lambda z, real: right(z, F.pad(real, (1, 0), value=True), read=lambda z: z),
        ),
        Slip(
            "class-token-in-sum",
            "The class token is in the sum, but not in the count.",
            lambda z, real: right(z, real) + z[:, 0] / _count(real),
        ),
        Slip(
            "mask-inverted",
            "This is the mean of the padded patches, or 0 where there are none.",
            lambda z, real: right(z, ~real).nan_to_num(),
        ),
        Slip(
            "images-mixed",
            "The real patches of all images are averaged together.",
            lambda z, real: z[:, 1:][real].mean(dim=0),
            lambda z, real: z[:, 1:][real].mean(dim=0, keepdim=True),
            lambda z, real: z[:, 1:][real].mean(dim=0).expand(len(z), -1),
        ),
        Slip("class-token-read", "The class token is returned.", lambda z, real: z[:, 0]),
        Slip("axis-kept", "The axis of tokens is still there, with length 1.", lambda z, real: right(z, real)[:, None]),
        Slip(
            "not-summed",
            "The tokens are masked but not summed: each is still there.",
            lambda z, real: z[:, 1:] * real[..., None],
        ),
        Slip(
            "summed-over-the-width",
            "The numbers of each token are summed: that is the axis D, not the axis of the tokens.",
            lambda z, real: (z[:, 1:] * real[..., None]).sum(dim=2),
            lambda z, real: (z[:, 1:] * real[..., None]).mean(dim=2),
            lambda z, real: (z[:, 1:] * real[..., None]).sum(dim=2) / _count(real),
            lambda z, real: z[:, 1:][real].mean(dim=1),
        ),
        Slip(
            "largest-taken",
            "The maximum over the real patches is returned, not their mean.",
            lambda z, real: z[:, 1:].masked_fill(~real[..., None], -math.inf).amax(dim=1),
        ),
        Slip(
            "median-taken",
            "The median of the real patches is returned, not their mean.",
            lambda z, real: torch.stack([x[1:][m].median(dim=0).values for x, m in zip(z, real, strict=True)]),
        ),
        Slip(
            "softmax-of-the-mask",
            "The weights are a softmax over zeros and ones, which still gives the padded patches a share.",
            lambda z, real: (real.float().softmax(dim=1)[..., None] * z[:, 1:]).sum(dim=1),
        ),
        Slip(
            "padding-as-infinity",
            "The padded patches are set to NaN or to minus infinity, which spreads through the mean.",
            lambda z, real: z[:, 1:].masked_fill(~real[..., None], -math.inf).mean(dim=1),
            lambda z, real: z[:, 1:].masked_fill(~real[..., None], math.nan).mean(dim=1),
        ),
        Slip(
            "patch-left-out",
            "The first or the last patch is left out.",
            lambda z, real: right(z, real[:, :-1], read=lambda z: z[:, 1:-1]),
            lambda z, real: right(z, real[:, 1:], read=lambda z: z[:, 2:]),
        ),
    ],
}
