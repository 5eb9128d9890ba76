"""Exercise capstone.attention: self-attention as a module."""

import math
from functools import partial
from itertools import product

import torch

from vit_course.attention import SelfAttention
from vit_course.checks.attention.mended import MISTAKES as OF_MATRICES
from vit_course.checks.attention.mended import attention as of_matrices
from vit_course.checks.tools.mistakes import Mistake, Slip, wrong_functions
from vit_course.checks.tools.modules import build
from vit_course.checks.tools.put_weights import random_weights, same_module


def attention(answer, draw):
    """`answer(hidden_dim, num_heads)` -> a module (B, T, D) -> (B, T, D) with linear layers qkv and projection."""
    for (batch, tokens), (heads, d) in zip(((3, 5), (2, 6)), head_sizes(draw), strict=True):
        hidden = heads * d
        layer = build(answer, hidden, heads)
        weights = random_weights(SelfAttention(hidden, heads), draw)
        inputs = [2 * draw.normal(*sizes, hidden) for sizes in ((batch, tokens), (batch + 1, tokens + 2))]
        mistakes = [
            Mistake(one.slug, one.sentence, partial(with_weights, weights=weights, heads=heads, function=one.function))
            for one in MISTAKES
        ]
        right = partial(with_weights, weights=weights, heads=heads)
        same_module(layer, weights, [right], inputs, mistakes, "(B, T, D)", draw)


def head_sizes(draw) -> list[tuple[int, int]]:
    """(heads, width of a head), twice, of which one differs in the number of heads from the other."""
    return [draw.choose([(2, 5), (2, 7)]), (4, 5)]


def with_weights(x, weights, heads, function=of_matrices):
    """A function of tokens, two layers and h, as those of exercise attention.mended, with weights by name."""
    qkv, projection = ((weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in ("qkv", "projection"))
    return function(x, qkv, projection, heads)


def _mixed(mix):
    # The right attention where `mix` makes other weights (B, h, T, T) of the right ones.
    return partial(of_matrices, share=lambda scores: mix(scores.softmax(-1)))


# The slips of attention with given matrices, and those that come up in a module.
MISTAKES = [
    *wrong_functions(OF_MATRICES, of_matrices, pairs=3),
    *wrong_functions(
        [
            Slip(
                "weights-averaged",
                "The weights of the heads are averaged or added up before they are applied to the values.",
                _mixed(lambda weights: weights.mean(1, keepdim=True).expand_as(weights)),
                _mixed(lambda weights: weights.sum(1, keepdim=True).expand_as(weights)),
            ),
            Slip(
                "scores-averaged",
                "The scores of the heads are averaged or added up, so there is one set of weights for all heads.",
                partial(of_matrices, share=lambda s: s.mean(1, keepdim=True).softmax(-1).expand_as(s)),
                partial(of_matrices, share=lambda s: s.sum(1, keepdim=True).softmax(-1).expand_as(s)),
            ),
            Slip(
                "own-token-masked",
                "No token attends to itself.",
                partial(
                    of_matrices,
                    share=lambda s: s.masked_fill(torch.eye(s.shape[-1], dtype=torch.bool), -math.inf).softmax(-1),
                ),
            ),
            Slip(
                "no-softmax",
                "The scores are used as weights without scaling and without a softmax.",
                partial(of_matrices, scale=lambda *_: 1, share=lambda s: s),
            ),
            Slip(
                "relu",
                "The scores go through a ReLU instead of the softmax, without scaling.",
                partial(of_matrices, scale=lambda *_: 1, share=torch.relu),
            ),
            Slip(
                "weights-uniform",
                "Every token gets the same weight, whatever queries and keys are.",
                partial(of_matrices, share=lambda s: torch.ones_like(s) / s.shape[-1]),
            ),
            Slip(
                "part-unused",
                "One of queries, keys and values is not used: another is in its place.",
                *(partial(of_matrices, order=parts) for parts in product(range(3), repeat=3) if len({*parts}) < 3),
            ),
            Slip(
                "wrong-number-of-heads",
                "The number of heads is wrong.",
                lambda x, qkv, projection, heads: of_matrices(x, qkv, projection, x.shape[-1] // heads),
                lambda x, qkv, projection, heads: of_matrices(x, qkv, projection, 2),
            ),
        ]
    ),
]
