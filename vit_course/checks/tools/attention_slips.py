"""Slips of two steps of attention that several exercises have: how scores are divided, and how weight is shared out."""

import torch

from vit_course.checks.tools.mistakes import Slip

SCALE_ROOT_OF_ALL_HEADS = [
    Slip(
        "sqrt-of-hidden-width",
        "The scores are divided by the square root of the hidden width, not of the width of a head.",
        lambda d, heads, tokens: (d * heads) ** 0.5,
    ),
]
SCALE_NONE = [
    Slip("no-scale", "The scores go into the softmax without being divided.", lambda d, heads, tokens: 1.0),
]
SCALE_OTHERS = [
    Slip(
        "scale-by-d",
        "The scores are divided by the width of a head itself, or by its square root twice.",
        lambda d, heads, tokens: d,
    ),
    Slip(
        "scale-by-hidden-width",
        "The scores are divided by the hidden width itself.",
        lambda d, heads, tokens: d * heads,
    ),
    Slip(
        "scale-by-tokens",
        "The scores are divided by the square root of a number of tokens, not of the width of a head.",
        lambda d, heads, tokens: tokens**0.5,
    ),
    Slip(
        "scale-by-heads",
        "The scores are divided by the square root of the number of heads, not of the width of a head.",
        lambda d, heads, tokens: heads**0.5,
    ),
    Slip(
        "multiplied-by-root",
        "The scores are multiplied by the square root of the width of a head, not divided by it.",
        lambda d, heads, tokens: d**-0.5,
    ),
    Slip(
        "sqrt-of-fused-width",
        "The scores are divided by the square root of 3D, the width before the cut.",
        lambda d, heads, tokens: (3 * d * heads) ** 0.5,
    ),
    Slip(
        "sqrt-of-fused-width",
        "The scores are divided by the square root of 3d, three times the width of a head.",
        lambda d, heads, tokens: (3 * d) ** 0.5,
    ),
    Slip(
        "root-of-the-root",
        "The scores are divided by the square root of the square root of the width: one of two factors is missing.",
        lambda d, heads, tokens: d**0.25,
    ),
    Slip("scale-by-heads", "The scores are divided by the number of heads.", lambda d, heads, tokens: heads),
    Slip("scale-by-tokens", "The scores are divided by the number of tokens.", lambda d, heads, tokens: tokens),
]
SHARE_AXES = [
    Slip(
        "softmax-over-queries",
        "The softmax runs over the queries: the weights of each key sum to 1; those of each query should.",
        lambda s: s.softmax(-2),
    ),
    Slip(
        "softmax-over-heads",
        "The softmax runs over the heads, so heads compete for a token, and a row no longer sums to 1.",
        lambda s: s.softmax(1),
    ),
    Slip("softmax-over-batch", "The softmax runs over the batch.", lambda s: s.softmax(0)),
    Slip(
        "softmax-over-all",
        "The softmax runs over queries and keys together: the whole table sums to 1, not each row.",
        lambda s: s.flatten(-2).softmax(-1).unflatten(-1, s.shape[-2:]),
    ),
]
SHARE_OTHERS = [
    Slip("softmax-twice", "The softmax is applied twice.", lambda s: s.softmax(-1).softmax(-1)),
    Slip("logarithms", "The logarithms of the weights are used instead of the weights.", lambda s: s.log_softmax(-1)),
    Slip("sigmoid", "A sigmoid is used instead of the softmax, so the rows do not sum to 1.", torch.sigmoid),
    Slip(
        "relu",
        "A ReLU is used instead of the softmax.",
        torch.relu,
        lambda s: s.relu() / s.relu().sum(-1, keepdim=True).clamp(min=1e-6),
    ),
    Slip("not-divided", "The exponentials are not divided by the sum of their row.", torch.exp),
    Slip(
        "softmax-over-all",
        "The exponentials are divided by the sum of all of them, not by the sum of their row.",
        lambda s: s.exp() / s.exp().sum(),
    ),
    Slip(
        "no-exponential",
        "The scores are divided by their sum directly; no exponential makes them positive.",
        lambda s: s / s.sum(-1, keepdim=True),
    ),
    Slip(
        "scores-negated",
        "The scores have the opposite sign: the worst match has the largest weight.",
        lambda s: (-s).softmax(-1),
    ),
    Slip(
        "weights-transposed",
        "The weights are transposed: their columns sum to 1, not their rows.",
        lambda s: s.softmax(-1).mT,
    ),
]
