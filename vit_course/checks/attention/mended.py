"""Exercise attention.mended: self-attention from a fused matrix, to be repaired."""

import math
from collections.abc import Callable
from functools import partial
from itertools import permutations

import torch
import torch.nn.functional as F

from vit_course.checks.tools.attention_slips import (
    SCALE_NONE,
    SCALE_OTHERS,
    SCALE_ROOT_OF_ALL_HEADS,
    SHARE_AXES,
    SHARE_OTHERS,
)
from vit_course.checks.tools.axes import axes_named
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Known, Mistake, Slip, by_results, named_by_details, wrong_functions


def mended(answer, draw):
    """`answer(x, qkv, projection, num_heads)`: (B, T, D) and two weight matrices -> (B, T, D)."""
    draws = []
    for batch, tokens, heads, width in (draw.sizes(4), draw.sizes(4)):
        hidden = heads * width
        # Weights of this size make the weights uneven enough that no mistake hides in the rounding.
        scale = hidden**-0.5
        qkv, projection = 2 * scale * draw.normal(3 * hidden, hidden), scale * draw.normal(hidden, hidden)
        draws.append((draw.normal(batch, tokens, hidden), qkv, projection, heads))
    sentence = (
        "When the heads are joined, their axes are not in the order images, tokens, heads, width, so a token's "
        "output holds pieces of other tokens."
    )
    orders = set(permutations(range(4))) - {(0, 2, 1, 3), (0, 2, 3, 1), (0, 1, 2, 3)}  # the right one, two in the table
    joins = [Mistake("merged-by-bare-reshape", sentence, partial(attention, join=_permuted(one))) for one in orders]
    mistakes = by_results([*joins, *wrong_functions(MISTAKES, attention, pairs=3)])
    x, qkv, _, heads = draws[0]
    axes = dict(zip("BTD", zip(x.shape, ("images", "tokens", "hidden width"), strict=True), strict=True))
    axes |= {"h": (heads, "heads"), "d": (x.shape[2] // heads, "width of a head"), "3D": (len(qkv), "fused width")}
    with named_by_details(*KNOWN), axes_named(axes, asked="(B, T, D)"):
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


def _without_last_axis(unflattened: Callable, *axes: int) -> Callable:
    return lambda y, heads: y.unflatten(2, unflattened(heads)).permute(axes)


def _permuted(order: tuple[int, ...]) -> Callable:
    return lambda out, x: out.permute(order).reshape(x.shape)


def _by_token(y, heads):
    return y.unflatten(2, (3, heads, -1)).permute(2, 0, 1, 3, 4)  # (3, B, T, h, d)


KNOWN = [
    Known(
        "don't multiply up to the size|invalid for input of size",
        "sizes-do-not-divide",
        "An axis is split into sizes whose product is not its length.",
    ),
]

MISTAKES = {
    "result": [
        Slip(
            "both-bugs",
            "Two things are wrong: the number under the square root, and the way the heads are joined.",
            lambda x, w, p, h: attention(
                x, w, p, h, lambda d, h, tokens: (d * h) ** 0.5, lambda out, x: out.reshape(x.shape)
            ),
        ),
    ],
    "scale": [
        *SCALE_ROOT_OF_ALL_HEADS,
        *SCALE_NONE,
        *SCALE_OTHERS,
        Slip(
            "scale-fixed",
            "The scores are divided by a fixed number, whatever the width of a head is.",
            lambda *_: 2,
            lambda *_: 3,
            lambda *_: 4,
            lambda *_: 5,
            lambda *_: 8,
            lambda *_: 10,
            lambda *_: 12,
            lambda *_: 16,
            lambda *_: 64,
        ),
    ],
    "join": [
        Slip(
            "merged-by-bare-reshape",
            "The heads are joined by a bare reshape, so the output of a token holds pieces of other tokens.",
            lambda out, x: out.reshape(x.shape),
        ),
        Slip(
            "joined-in-another-order",
            "The heads are joined with the axes in a different order: the numbers of a head do not lie side by side.",
            _permuted((0, 2, 3, 1)),
        ),
        Slip(
            "heads-averaged",
            "The outputs of the heads are averaged; they should lie side by side.",
            lambda out, x: out.mean(1).repeat(1, 1, out.shape[1]),
        ),
        Slip(
            "heads-averaged",
            "The outputs of the heads are added up; they should lie side by side.",
            lambda out, x: out.sum(1).repeat(1, 1, out.shape[1]),
        ),
        Slip(
            "one-head",
            "The output of the first head is used for all heads.",
            lambda out, x: out[:, 0].repeat(1, 1, out.shape[1]),
        ),
    ],
    "share": [
        *SHARE_AXES,
        *SHARE_OTHERS,
        Slip("no-softmax", "The scores are used as weights without a softmax.", lambda s: s),
        Slip(
            "query-key-swapped",
            "Queries and keys are swapped, or the scores are transposed, so the keys attend to the queries.",
            lambda s: s.mT.softmax(-1),
        ),
        Slip(
            "causal",
            "No token attends to a later one: there is a mask that the exercise does not ask for.",
            lambda s: s.masked_fill(torch.ones_like(s).triu(1).bool(), -math.inf).softmax(-1),
        ),
    ],
    "project": [
        Slip(
            "no-projection",
            "The output projection is missing: the heads lie side by side and are never mixed.",
            lambda out, w: out,
        ),
        Slip(
            "projection-transposed",
            "The output projection uses its matrix in the wrong orientation.",
            lambda out, w: out @ w,
        ),
        Slip(
            "activation-added",
            "The joined heads go through an activation before the projection.",
            lambda out, w: _linear(out.relu(), w),
            lambda out, w: _linear(F.gelu(out), w),
        ),
    ],
    "cut": [
        Slip(
            "cut-by-bare-reshape",
            "The heads are cut by a bare view or reshape, so one head holds pieces of several tokens.",
            lambda y, h: [part.reshape(len(y), h, y.shape[1], -1) for part in y.chunk(3, dim=-1)],
        ),
        Slip(
            "cut-by-bare-reshape",
            "A bare reshape mixes the axes of images and tokens.",
            lambda y, h: y.transpose(0, 1).reshape(len(y), y.shape[1], 3, h, -1).permute(2, 0, 3, 1, 4),
        ),
        Slip(
            "heads-before-three",
            (
                "The fused matrix is cut into heads first and then into three, but it holds all queries, then all "
                "keys, then all values."
            ),
            _without_last_axis(lambda h: (h, 3, -1), 3, 0, 2, 1, 4),
        ),
        Slip(
            "cut-every-hth",
            "A head gets every h-th number; its numbers should lie side by side.",
            _without_last_axis(lambda h: (3, -1, h), 2, 0, 4, 1, 3),
        ),
        Slip(
            "heads-before-three",
            "Queries, keys and values each take every third number, but they come one block after the other.",
            _without_last_axis(lambda h: (h, -1, 3), 4, 0, 2, 1, 3),
            _without_last_axis(lambda h: (-1, h, 3), 4, 0, 2, 1, 3),
        ),
        Slip(
            "cut-by-bare-reshape",
            "Everything is cut by one bare reshape, so queries, keys and values hold pieces of each other.",
            lambda y, h: y.reshape(3, len(y), h, y.shape[1], -1),
            lambda y, h: y.reshape(len(y), 3, h, y.shape[1], -1).transpose(0, 1),
        ),
        Slip(
            "cut-by-bare-reshape",
            "The heads are cut by a bare view or reshape, so one head holds pieces of several tokens.",
            lambda y, h: y.reshape(len(y), h, y.shape[1], -1).chunk(3, -1),
        ),
        Slip(
            "activation-added",
            "Queries, keys and values go through an activation.",
            lambda y, h: _cut(y.relu(), h),
            lambda y, h: _cut(F.gelu(y), h),
        ),
    ],
    "order": [
        Slip("key-value-swapped", "Keys and values are swapped.", (0, 2, 1)),
        Slip("query-value-swapped", "Queries and values are swapped.", (2, 1, 0)),
        Slip("parts-in-another-order", "Queries, keys and values are taken in the wrong order.", (1, 2, 0), (2, 0, 1)),
        Slip("keys-averaged", "The weights average the keys; the values are not used.", (0, 1, 1)),
        Slip("queries-averaged", "The weights average the queries; the values are not used.", (0, 1, 0)),
        Slip("queries-with-queries", "The queries are compared with the queries.", (0, 0, 2)),
        Slip("keys-with-keys", "The keys are compared with the keys.", (1, 1, 2)),
    ],
    "end": [
        Slip(
            "input-added",
            "The input is added to the output: that is the job of the block, not of the attention.",
            lambda out, x: out + x,
        ),
        Slip(
            "activation-added",
            "The output goes through an activation after the projection.",
            lambda out, x: out.relu(),
            lambda out, x: F.gelu(out),
        ),
    ],
    "result-2": [
        Slip(
            "scale-after-softmax",
            "The division by the square root comes after the softmax.",
            lambda x, w, p, h: attention(
                x, w, p, h, lambda *_: 1, join=lambda out, x: _join(out, x) / (x.shape[-1] // h) ** 0.5
            ),
        ),
        Slip(
            "one-head",
            "There is one head of the full width: nothing is cut.",
            lambda x, w, p, h: attention(x, w, p, 1),
            lambda x, w, p, h: attention(x, w, p, 1, lambda d, heads, tokens: (d / h) ** 0.5),
            lambda x, w, p, h: attention(x, w, p, 1, lambda *_: 1),
            lambda x, w, p, h: attention(x, w, p, 1, lambda d, heads, tokens: d // h),
        ),
        Slip(
            "norm-added",
            "There is a LayerNorm: that is the job of the block, not of the attention.",
            lambda x, w, p, h: attention(F.layer_norm(x, x.shape[-1:]), w, p, h),
            lambda x, w, p, h: F.layer_norm(attention(x, w, p, h), x.shape[-1:]),
        ),
        Slip(
            "tokens-not-together",
            "The axes of tokens and heads were not swapped, so the heads of each token attend to each other.",
            lambda x, w, p, h: attention(x, w, p, h, cut=_by_token, join=lambda out, x: out.flatten(2)),
            lambda x, w, p, h: attention(
                x, w, p, h, lambda d, h, tokens: (d * h) ** 0.5, cut=_by_token, join=lambda out, x: out.flatten(2)
            ),
            lambda x, w, p, h: attention(x, w, p, h, cut=_by_token, join=lambda out, x: _join(out, x).reshape(x.shape)),
        ),
        Slip(
            "attends-over-the-batch",
            "The axes of images and tokens are swapped, so the images of a batch attend to each other.",
            lambda x, w, p, h: attention(x.transpose(0, 1), w, p, h).transpose(0, 1),
        ),
    ],
}
