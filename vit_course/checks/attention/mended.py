"""Exercise attention.mended: self-attention from a fused matrix, to be repaired."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F

from vit_course.checks.tools.attention_mistakes import HIDDEN_WIDTH, SCALE, SHARE
from vit_course.checks.tools.axes import axes_named
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Mistake, bugs_left, by_results


def mended(answer, draw):
    """`answer(x, qkv, projection, num_heads)`: (B, T, D) and two weight matrices -> (B, T, D)."""
    draws = []
    for batch, tokens, heads, width in (draw.sizes(4), draw.sizes(4)):
        hidden = heads * width
        # Weights of this size make the weights uneven enough that no mistake hides in the rounding.
        scale = hidden**-0.5
        qkv, projection = 2 * scale * draw.normal(3 * hidden, hidden), scale * draw.normal(hidden, hidden)
        draws.append((draw.normal(batch, tokens, hidden), qkv, projection, heads))
    x, qkv, _, heads = draws[0]
    axes = dict(zip("BTD", zip(x.shape, ("images", "tokens", "hidden width"), strict=True), strict=True))
    axes |= {"h": (heads, "heads"), "d": (x.shape[2] // heads, "width of a head"), "3D": (len(qkv), "fused width")}
    mistakes = by_results([*BUGS, *MISTAKES], attention)
    with axes_named(axes, asked="(B, T, D)"):
        same_function(answer, attention, draws, mistakes, axes="(B, T, D)")


def _linear(x, layer):
    return F.linear(x, *layer) if isinstance(layer, tuple) else x @ layer.T


def _cut(y, heads):
    return y.unflatten(2, (3, heads, -1)).permute(2, 0, 3, 1, 4)  # (3, B, h, T, d)


def _join(out, x):
    return out.transpose(1, 2).flatten(2)


def attention(
    x,
    qkv,
    projection,
    num_heads,
    scale=lambda d, heads, tokens: d**0.5,
    join=_join,
    share=lambda scores: scores.softmax(-1),
    project=_linear,
    cut=_cut,
    order=(0, 1, 2),
    end=lambda out, x: out,
):
    """The right answer, and with one of its steps replaced a wrong one; a matrix may come with a bias, as a tuple."""
    parts = cut(_linear(x, qkv), num_heads)
    q, k, v = (parts[index] for index in order)
    weights = share(q @ k.transpose(-2, -1) / scale(q.shape[-1], num_heads, x.shape[1]))
    return end(project(join(weights @ v, x), projection), x)


def _permuted(*order: int) -> Callable:
    return lambda out, x: out.permute(order).reshape(x.shape)


def _by_token(y, heads):
    return y.unflatten(2, (3, heads, -1)).permute(2, 0, 1, 3, 4)  # (3, B, T, h, d)


MERGED = Mistake(
    "merged-by-bare-reshape",
    "The heads are joined by a bare reshape, so the output of a token holds pieces of other tokens.",
    {"join": lambda out, x: out.reshape(x.shape)},
)

BUGS = bugs_left(HIDDEN_WIDTH, MERGED)

MISTAKES = [
    *SCALE,
    MERGED,
    Mistake(
        "no-scale-and-merged-by-bare-reshape",
        "The scores go into the softmax without being divided, and a bug of the faulty version is still there.",
        {"scale": lambda d, heads, tokens: 1.0, "join": lambda out, x: out.reshape(x.shape)},
    ),
    Mistake(
        "merged-by-bare-reshape",
        (
            "When the heads are joined, their axes are not in the order images, tokens, heads, width, so a token's "
            "output holds pieces of other tokens."
        ),
        {"join": _permuted(0, 1, 3, 2)},
        {"join": _permuted(0, 3, 2, 1)},
    ),
    Mistake(
        "joined-in-another-order",
        "The heads are joined with the axes in a different order: the numbers of a head do not lie side by side.",
        {"join": _permuted(0, 2, 3, 1)},
    ),
    Mistake(
        "heads-averaged",
        "The outputs of the heads are averaged or added up; they should lie side by side.",
        {"join": lambda out, x: out.mean(1).repeat(1, 1, out.shape[1])},
        {"join": lambda out, x: out.sum(1).repeat(1, 1, out.shape[1])},
    ),
    *SHARE,
    Mistake("no-softmax", "The scores are used as weights without a softmax.", {"share": lambda scores: scores}),
    Mistake(
        "query-key-swapped",
        "Queries and keys are swapped, or the scores are transposed, so the keys attend to the queries.",
        {"share": lambda scores: scores.mT.softmax(-1)},
    ),
    Mistake(
        "causal",
        "No token attends to a later one: there is a mask that the exercise does not ask for.",
        {"share": lambda scores: scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf).softmax(-1)},
    ),
    Mistake(
        "no-projection",
        "The output projection is missing: the heads lie side by side and are never mixed.",
        {"project": lambda out, w: out},
    ),
    Mistake(
        "projection-transposed",
        "The output projection uses its matrix in the wrong orientation.",
        {"project": lambda out, w: out @ w},
    ),
    Mistake(
        "cut-by-bare-reshape",
        "The heads are cut by a bare view or reshape, so one head holds pieces of several tokens.",
        {"cut": lambda y, h: [part.reshape(len(y), h, y.shape[1], -1) for part in y.chunk(3, dim=-1)]},
        {"cut": lambda y, h: y.reshape(len(y), h, y.shape[1], -1).chunk(3, -1)},
    ),
    Mistake(
        "cut-by-bare-reshape",
        "Everything is cut by one bare reshape, so queries, keys and values hold pieces of each other.",
        {"cut": lambda y, h: y.reshape(3, len(y), h, y.shape[1], -1)},
        {"cut": lambda y, h: y.reshape(len(y), 3, h, y.shape[1], -1).transpose(0, 1)},
    ),
    Mistake(
        "heads-before-three",
        (
            "The fused matrix is cut into heads first and then into three, but it holds all queries, then all "
            "keys, then all values."
        ),
        {"cut": lambda y, h: y.unflatten(2, (h, 3, -1)).permute(3, 0, 2, 1, 4)},
    ),
    Mistake(
        "heads-before-three",
        "Queries, keys and values each take every third number, but they come one block after the other.",
        {"cut": lambda y, h: y.unflatten(2, (h, -1, 3)).permute(4, 0, 2, 1, 3)},
    ),
    Mistake(
        "cut-every-hth",
        "A head gets every h-th number; its numbers should lie side by side.",
        {"cut": lambda y, h: y.unflatten(2, (3, -1, h)).permute(2, 0, 4, 1, 3)},
    ),
    Mistake("key-value-swapped", "Keys and values are swapped.", {"order": (0, 2, 1)}),
    Mistake("query-value-swapped", "Queries and values are swapped.", {"order": (2, 1, 0)}),
    Mistake(
        "parts-in-another-order",
        "Queries, keys and values are taken in the wrong order.",
        {"order": (1, 2, 0)},
        {"order": (2, 0, 1)},
    ),
    Mistake("queries-averaged", "The weights average the queries; the values are not used.", {"order": (0, 1, 0)}),
    Mistake(
        "input-added",
        "The input is added to the output: that is the job of the block, not of the attention.",
        {"end": lambda out, x: out + x},
    ),
    Mistake(
        "activation-added",
        "There is an activation such as a ReLU: that is the job of the MLP, not of the attention.",
        {"cut": lambda y, h: _cut(y.relu(), h)},
        {"cut": lambda y, h: _cut(F.gelu(y), h)},
        {"project": lambda out, w: _linear(out.relu(), w)},
        {"project": lambda out, w: _linear(F.gelu(out), w)},
        {"end": lambda out, x: out.relu()},
        {"end": lambda out, x: F.gelu(out)},
    ),
    Mistake(
        "scale-after-softmax",
        "The division by the square root comes after the softmax.",
        {"scale": lambda d, heads, tokens: 1.0, "join": lambda out, x: _join(out / out.shape[-1] ** 0.5, x)},
    ),
    Mistake(
        "one-head",
        "There is one head of the full width: nothing is cut.",
        lambda x, w, p, h: attention(x, w, p, 1),
        lambda x, w, p, h: attention(x, w, p, 1, lambda d, heads, tokens: (d / h) ** 0.5),
    ),
    Mistake(
        "norm-added",
        "There is a LayerNorm: that is the job of the block, not of the attention.",
        lambda x, w, p, h: attention(F.layer_norm(x, x.shape[-1:]), w, p, h),
        lambda x, w, p, h: F.layer_norm(attention(x, w, p, h), x.shape[-1:]),
    ),
    Mistake(
        "tokens-not-together",
        "The axes of tokens and heads were not swapped, so the heads of each token attend to each other.",
        {"cut": _by_token, "join": lambda out, x: out.flatten(2)},
        {"cut": _by_token, "join": lambda out, x: out.flatten(2), "scale": lambda d, h, tokens: (d * h) ** 0.5},
    ),
    Mistake(
        "attends-over-the-batch",
        "The axes of images and tokens are swapped, so the images of a batch attend to each other.",
        lambda x, w, p, h: attention(x.transpose(0, 1), w, p, h).transpose(0, 1),
    ),
]
