"""Exercise class_token.padded: the mean of the patches that are real, where images were padded."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, one_mistake, same_function
from vit_course.checks.tools.usual import usual_slips


@exercise("2.1", "The mean of the real patches", section="Does it matter which token speaks?", difficulty=2, minutes=8)
def padded(answer, draw):
    """`answer(z, real)`: (B, T, D) with a class token in front, bool (B, N) -> (B, D), each image's own mean."""
    draws = []
    for batch, patches, width in (draw.sizes(3, low=4), draw.sizes(3, low=4)):
        draws.append((draw.normal(batch, 1 + patches, width), _masks(draw, batch, patches)))
    # All patches of all images are real; then a single image, a single patch, and one number a token.
    draws.append((draw.normal(2, 5, 3), torch.ones(2, 4, dtype=torch.bool)))
    draws.append((draw.normal(1, 2, 1), torch.ones(1, 1, dtype=torch.bool)))
    draws.append((draw.normal(3, 6, 1), _masks(draw, 3, 5)))
    same_function(answer, _right, draws, axes="(B, D)", mistakes=[*_MISTAKES, *usual_slips(answer, _right, draws)])


def _masks(draw, batch: int, patches: int) -> torch.Tensor:
    # (B, N): 2, 3, ... of the patches are real, at other places in each image; of the last image all of them.
    real = torch.zeros(batch, patches, dtype=torch.bool)
    for image in range(batch):
        count = patches if image == batch - 1 else 2 + image % (patches - 2)
        real[image, draw.permutation(patches)[:count]] = True
    real[0, 0], real[0, -1] = False, True  # neither the first ones nor all but the last
    return real


def _weights(real):
    return real.float()[..., None]  # (B, N, 1)


def _right(z, real):
    return _mean(z[:, 1:], real)


def _mean(tokens, real):
    return (tokens * _weights(real)).sum(dim=1) / _weights(real).sum(dim=1)


def _sum(z, real):
    return (z[:, 1:] * _weights(real)).sum(dim=1)


def _with_class_token(real):
    return torch.cat([torch.ones_like(real[:, :1]), real], dim=1)


def _first_ones(real):
    # As many as are real, from the first on.
    return torch.arange(real.shape[1]) < real.sum(dim=1, keepdim=True)


def _same_for_all(mask):
    return lambda z, real: _mean(z[:, 1:], mask(real).expand_as(real))


_MISTAKES = [
    Mistake(
        "divided-by-all",
        "The sum is over the real patches, and it is divided by the number of all patches.",
        lambda z, real: (z[:, 1:] * real[..., None]).mean(dim=1),
    ),
    Mistake(
        "divided-by-tokens",
        "The sum is over the real patches, and it is divided by the number of all tokens.",
        lambda z, real: _sum(z, real) / z.shape[1],
    ),
    Mistake("sum-of-patches", "The sum over the real patches comes back, which grows with their number.", _sum),
    Mistake(
        "count-of-one-too-many",
        "The sum is over the real patches, and it is divided by their number plus one.",
        lambda z, real: _sum(z, real) / (_weights(real).sum(dim=1) + 1),
    ),
    *one_mistake(
        "one-count-for-all",
        "Each sum is divided by one and the same count, and the images have different ones.",
        lambda z, real: _sum(z, real) / real.sum(),
        lambda z, real: _sum(z, real) / real.float().sum(dim=1).mean(),
        lambda z, real: _sum(z, real) / real[0].sum(),
        lambda z, real: _sum(z, real) / real.float().sum(dim=1).amax(),
    ),
    Mistake(
        "count-inverted",
        "The sum is over the real patches, and it is divided by the number of the others.",
        lambda z, real: _sum(z, real) / _weights(~real).sum(dim=1),
    ),
    Mistake(
        "sum-inverted",
        "The sum is over the padded patches, and it is divided by the number of the real ones.",
        lambda z, real: _sum(z, ~real) / _weights(real).sum(dim=1),
    ),
    *one_mistake(
        "count-broadcast-wrongly",
        "The counts (B,) meet the sums (B, D) along their last axis: a count belongs to a row.",
        lambda z, real: _sum(z, real) / real.sum(1),
    ),
    *one_mistake(
        "mask-without-third-axis",
        "The mask (B, N) meets the patches (B, N, D) without an axis for D.",
        lambda z, real: z[:, 1:] * real,
        lambda z, real: (z[:, 1:] * real.float()).sum(1),
    ),
    *one_mistake(
        "mask-on-all-tokens",
        "The mask has an entry for each patch, and here it meets all tokens, the class token too.",
        lambda z, real: z[real].mean(dim=0),
        lambda z, real: z * real[..., None],
        lambda z, real: z.masked_fill(~real[..., None], 0),
        lambda z, real: _mean(z, real),
    ),
    Mistake("padding-counted", "The padded patches are in the mean.", lambda z, real: z[:, 1:].mean(dim=1)),
    Mistake(
        "class-token-in-mean",
        "The class token and the padded patches are in the mean.",
        lambda z, real: z.mean(dim=1),
    ),
    Mistake(
        "class-token-in-mean",
        "The class token is counted as if it were a patch.",
        lambda z, real: _mean(z, _with_class_token(real)),
    ),
    Mistake(
        "class-token-in-sum",
        "The class token is in the sum, and not in the count.",
        lambda z, real: (z * _weights(_with_class_token(real))).sum(1) / _weights(real).sum(1),
    ),
    Mistake(
        "shifted-by-one",
        "The mask is one token early: it begins with patch 0, and here it meets the class token first.",
        lambda z, real: _mean(z[:, :-1], real),
    ),
    *one_mistake(
        "first-ones-taken",
        "As many tokens as are real are taken from the front, and the real ones may lie anywhere.",
        lambda z, real: _mean(z[:, 1:], _first_ones(real)),
        lambda z, real: _mean(z[:, :-1], _first_ones(real)),
        lambda z, real: _mean(z, _first_ones(_with_class_token(real))),
    ),
    *one_mistake(
        "one-mask-for-all",
        "One mask is used for all images: that of the first, or of what several have in common.",
        _same_for_all(lambda real: real[:1]),
        _same_for_all(lambda real: real.all(dim=0)[None]),
        _same_for_all(lambda real: real.any(dim=0)[None]),
    ),
    *one_mistake(
        "mask-inverted",
        "This is the mean of the padded patches.",
        lambda z, real: _right(z, ~real),
        lambda z, real: _right(z, ~real).nan_to_num(),  # 0 for an image without padding
    ),
    *one_mistake(
        "images-mixed",
        "The real patches of all images are averaged together.",
        lambda z, real: z[:, 1:][real].mean(dim=0),
        lambda z, real: z[:, 1:][real].mean(dim=0, keepdim=True),
        lambda z, real: z[:, 1:][real].mean(dim=0).expand(len(z), -1),
    ),
    Mistake("class-token-read", "The class token comes back.", lambda z, real: z[:, 0]),
    Mistake(
        "axis-kept",
        "The axis of tokens is still there, with length 1.",
        lambda z, real: _right(z, real)[:, None],
    ),
    *one_mistake(
        "not-summed",
        "The tokens are masked and not yet summed up: each is still there.",
        lambda z, real: z[:, 1:] * _weights(real),
        lambda z, real: z[:, 1:] * _weights(real) / _weights(real).sum(dim=1, keepdim=True),
    ),
    *one_mistake(
        "summed-over-the-width",
        "The numbers of each token are summed up: that is the axis D, and not the one of the tokens.",
        lambda z, real: (z[:, 1:] * _weights(real)).sum(dim=2),
        lambda z, real: (z[:, 1:] * _weights(real)).mean(dim=2),
        lambda z, real: (z[:, 1:] * _weights(real)).sum(dim=2) / _weights(real).sum(dim=1),
        lambda z, real: (z[:, 1:] * _weights(real)).sum(dim=2) / _weights(real).sum(dim=2),
        lambda z, real: z[:, 1:][real].mean(dim=1),
    ),
    *one_mistake(
        "summed-over-the-batch",
        "The sum runs over the images: that is the axis B, and not the one of the tokens.",
        lambda z, real: (z[:, 1:] * _weights(real)).sum(dim=0) / _weights(real).sum(dim=0),
        lambda z, real: (z[:, 1:] * _weights(real)).sum(dim=0),
    ),
    *one_mistake(
        "largest-taken",
        "The largest number of the real patches comes back, not their mean.",
        lambda z, real: z[:, 1:].masked_fill(~real[..., None], -torch.inf).amax(dim=1),
    ),
    Mistake(
        "largest-taken",
        "The median of the real patches comes back, not their mean.",
        lambda z, real: torch.stack([x[1:][m].median(dim=0).values for x, m in zip(z, real, strict=True)]),
    ),
    Mistake(
        "softmax-of-the-mask",
        "The weights are a softmax over zeros and ones, which leaves the padded patches a share.",
        lambda z, real: (real.float().softmax(dim=1)[..., None] * z[:, 1:]).sum(dim=1),
    ),
    *one_mistake(
        "padding-as-infinity",
        "The padded patches are set to NaN or to minus infinity, which a mean carries along.",
        lambda z, real: z[:, 1:].masked_fill(~real[..., None], -torch.inf).mean(dim=1),
        lambda z, real: z[:, 1:].masked_fill(~real[..., None], torch.nan).mean(dim=1),
    ),
    Mistake(
        "division-rounded",
        "The division rounds down to whole numbers.",
        lambda z, real: _sum(z, real) // _weights(real).sum(dim=1),
    ),
    *one_mistake(
        "patch-left-out",
        "The first or the last patch is left out.",
        lambda z, real: _mean(z[:, 1:-1], real[:, :-1]),
        lambda z, real: _mean(z[:, 2:], real[:, 1:]),
    ),
]
