"""Exercise capstone.attention: self-attention as a module."""

import math
from functools import partial

import torch

from vit_course.attention import SelfAttention
from vit_course.checks.attention.mended import MISTAKES as OF_MATRICES
from vit_course.checks.attention.mended import attention as of_matrices
from vit_course.checks.tools.mistakes import Mistake, map_functions
from vit_course.checks.tools.modules import build
from vit_course.checks.tools.put_weights import random_weights, same_module


def attention(answer, draw):
    """`answer(hidden_dim, num_heads)` -> a module (B, T, D) -> (B, T, D) with linear layers qkv and projection."""
    for (batch, tokens), (heads, d) in zip(((3, 5), (2, 6)), head_sizes(draw), strict=True):
        hidden = heads * d
        layer = build(answer, hidden, heads)
        weights = random_weights(SelfAttention(hidden, heads), draw)
        inputs = [2 * draw.normal(*sizes, hidden) for sizes in ((batch, tokens), (batch + 1, tokens + 2))]
        right = partial(with_weights, weights=weights, heads=heads)
        mistakes = map_functions(MISTAKES, lambda wrong, right=right: partial(right, function=wrong), of_matrices)
        same_module(layer, weights, [right], inputs, mistakes, "(B, T, D)", draw)


def head_sizes(draw) -> list[tuple[int, int]]:
    """(heads, width of a head), twice, of which one differs in the number of heads from the other."""
    return [draw.choose([(2, 5), (2, 7)]), (4, 5)]


def with_weights(x, weights, heads, function=of_matrices):
    """A function of tokens, two layers and h, as those of exercise attention.mended, with weights by name."""
    qkv, projection = ((weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in ("qkv", "projection"))
    return function(x, qkv, projection, heads)


# Those of attention with given matrices, and those that come up in a module.
MISTAKES = [
    *OF_MATRICES,
    Mistake(
        "weights-averaged",
        "The weights of the heads are averaged or added up before they are applied to the values.",
        {"share": lambda scores: scores.softmax(-1).mean(1, keepdim=True).expand_as(scores)},
        {"share": lambda scores: scores.softmax(-1).sum(1, keepdim=True).expand_as(scores)},
    ),
    Mistake(
        "own-token-masked",
        "No token attends to itself.",
        {"share": lambda scores: scores.masked_fill(torch.eye(scores.shape[-1]).bool(), -math.inf).softmax(-1)},
    ),
    Mistake(
        "no-softmax",
        "The scores are used as weights without scaling and without a softmax.",
        {"scale": lambda d, heads, tokens: 1.0, "share": lambda scores: scores},
    ),
    Mistake(
        "weights-uniform",
        "Every token gets the same weight, whatever queries and keys are.",
        {"share": lambda scores: (0 * scores).softmax(-1)},
    ),
    Mistake(
        "scale-by-d-and-softmax-over-queries",
        (
            "Two things are wrong. The scores are divided by the width of a head itself, or by its square root twice. "
            "The softmax runs over the queries: the weights of each key sum to 1; those of each query should."
        ),
        {"scale": lambda d, heads, tokens: d, "share": lambda scores: scores.softmax(-2)},
    ),
]
