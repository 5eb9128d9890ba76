"""Exercise attention.mended: self-attention from a fused matrix, to be repaired."""

from collections.abc import Callable
from functools import partial
from itertools import permutations

import torch
import torch.nn.functional as F

from vit_course.checks.attention.scores import SCALES, softmax_over, softmax_over_keys
from vit_course.checks.exercise import exercise
from vit_course.checks.tools.axes import axes_named
from vit_course.checks.tools.functions import Mistake, one_mistake, same_function
from vit_course.checks.tools.slips import Known, by_results, named_by_details, slips
from vit_course.checks.tools.tensors import agree
from vit_course.checks.tools.usual import given, usual_slips


@exercise("4.2", "Self-attention from a fused matrix, repaired", "All heads in one product", difficulty=2, minutes=12)
def mended(answer, draw):
    """`answer(x, qkv, projection, num_heads)`: (B, T, D) and two weight matrices -> (B, T, D)."""
    draws = []
    for batch, tokens, heads, width in (draw.sizes(4), draw.sizes(4)):
        hidden = heads * width
        # Weights of this size make the weights uneven enough that no mistake hides in the rounding.
        scale = hidden**-0.5
        draws.append(
            (
                draw.normal(batch, tokens, hidden),
                2 * scale * draw.normal(3 * hidden, hidden),
                scale * draw.normal(hidden, hidden),
                heads,
            )
        )
    mistakes = [*_MISTAKES, *usual_slips(answer, attention, draws)]
    sentence = "Of several heads, the first alone is right."
    mistakes.append(Mistake("first-head-alone-right", sentence, partial(_first_head, answer)))
    x, qkv, _, heads = draws[0]
    axes = dict(zip("BTD", zip(x.shape, ("images", "tokens", "hidden width"), strict=True), strict=True))
    axes |= {"h": (heads, "heads"), "d": (x.shape[2] // heads, "width of a head"), "3D": (len(qkv), "fused width")}
    with named_by_details(*_KNOWN), axes_named(axes, asked="(B, T, D)"):
        same_function(answer, attention, draws, by_results(mistakes), axes="(B, T, D)")


def _first_head(answer, x, qkv, projection, num_heads):
    # The learner's result, if the first head alone is right; with this projection the heads come out as they are.
    alone, width = torch.eye(x.shape[-1]), x.shape[-1] // num_heads
    received, right = given(answer, x, qkv, alone, num_heads), attention(x, qkv, alone, num_heads)
    if received.shape != right.shape or agree(received, right) or not agree(received[..., :width], right[..., :width]):
        raise LookupError("wrong in the first head, or right in all")
    return given(answer, x, qkv, projection, num_heads)


def _cut(y, heads):
    return y.unflatten(2, (3, heads, -1)).permute(2, 0, 3, 1, 4)  # (3, B, h, T, d)


def _join(out, x):
    return out.transpose(1, 2).flatten(2)


def attention(
    x,
    qkv,
    projection,
    num_heads,
    scale=SCALES["right"],
    join=_join,
    share=softmax_over_keys,
    project=lambda out, w: out @ w.T,
    cut=_cut,
    order=(0, 1, 2),
    end=lambda out, x: out,
):
    """The right answer, and with one of its steps replaced a wrong one."""
    parts = cut(x @ qkv.T, num_heads)
    q, k, v = (parts[index] for index in order)
    weights = share(q @ k.transpose(-2, -1) / scale(q.shape[-1], num_heads, x.shape[1]))
    return end(project(join(weights @ v, x), projection), x)


def _without_last_axis(unflattened: Callable, *axes: int) -> Callable:
    return lambda y, heads: y.unflatten(2, unflattened(heads)).permute(axes)


def _permuted(order: tuple[int, ...]) -> Callable:
    return lambda out, x: out.permute(order).reshape(x.shape)


def _reshaped(y, heads):
    return [part.reshape(len(y), heads, y.shape[1], -1) for part in y.chunk(3, dim=-1)]


def _over_all(scores):
    return scores.flatten(-2).softmax(-1).unflatten(-1, scores.shape[-2:])


def _masked(mask: Callable) -> Callable:
    return lambda scores: scores.masked_fill(mask(torch.ones(scores.shape[-2:])).bool(), -torch.inf).softmax(-1)


_BARE = "The heads are put together by a bare reshape, so a token's output holds pieces of other tokens."
_BARE_CUT = "The heads are cut by a bare view or reshape, so one head holds pieces of several tokens."
_MISTAKES = [
    Mistake(
        "both-bugs",
        "Two things are wrong: the number under the root, and the way the heads are put together.",
        lambda x, w, p, h: attention(x, w, p, h, SCALES["root of all heads"], lambda out, x: out.reshape(x.shape)),
    ),
    *slips(
        attention,
        {
            "scale": [
                (SCALES["root of all heads"], "sqrt-of-hidden-width",
                 "The scores are divided by the root of the hidden width, not of the width of a head."),
                (SCALES["none"], "no-scale", "The scores go into the softmax without being divided."),
                (SCALES["width"], "scale-by-d",
                 "The scores are divided by the width of a head itself, or by its root twice."),
                (SCALES["all heads"], "scale-by-hidden-width", "The scores are divided by the hidden width itself."),
                (SCALES["root of heads"], "scale-by-heads",
                 "The scores are divided by the root of the number of heads, not of the width of a head."),
                (SCALES["root of tokens"], "scale-by-tokens",
                 "The scores are divided by the root of the number of tokens, not of the width of a head."),
                (SCALES["upside down"], "multiplied-by-root",
                 "The scores are multiplied by the root of the width of a head, not divided by it."),
                (lambda d, h, tokens: (3 * d * h) ** 0.5, "sqrt-of-fused-width",
                 "The scores are divided by the root of 3D, the width before the cut."),
                (lambda d, h, tokens: (3 * d) ** 0.5, "sqrt-of-fused-width",
                 "The scores are divided by the root of 3d, three times the width of a head."),
                (lambda d, h, tokens: d**0.25, "root-of-the-root",
                 "The scores are divided by the root of the root of the width: of two factors one is missing."),
                (lambda d, h, tokens: h, "scale-by-heads", "The scores are divided by the number of heads."),
                (lambda d, h, tokens: tokens, "scale-by-tokens", "The scores are divided by the number of tokens."),
                *[(lambda d, h, tokens, fixed=fixed: fixed, "scale-fixed",
                   "The scores are divided by one number, whatever the width of a head is.")
                  for fixed in (2, 3, 4, 5, 8, 10, 12, 16, 64)],
            ],
            "join": [
                (lambda out, x: out.reshape(x.shape), "merged-by-bare-reshape", _BARE),
                (_permuted((0, 2, 3, 1)), "joined-in-another-order",
                 "The heads are joined in another order of axes: the numbers of a head do not lie side by side."),
                *[(_permuted(order), "merged-by-bare-reshape",
                   "When the heads are joined, their axes do not stand in the order images, tokens, heads, width, so a "
                   "token's output holds pieces of other tokens.")
                  for order in permutations(range(4)) if order not in ((0, 1, 2, 3), (0, 2, 1, 3), (0, 2, 3, 1))],
                (lambda out, x: out.mean(1).repeat(1, 1, out.shape[1]), "heads-averaged",
                 "The outputs of the heads are averaged, where they lie side by side."),
                (lambda out, x: out.sum(1).repeat(1, 1, out.shape[1]), "heads-averaged",
                 "The outputs of the heads are added up, where they lie side by side."),
                (lambda out, x: out[:, 0].repeat(1, 1, out.shape[1]), "one-head",
                 "The output of the first head stands in the place of all heads."),
                (lambda out, x: out.flip(1).transpose(1, 2).flatten(2), "heads-backwards",
                 "The heads are joined from the last to the first."),
            ],
            "share": [
                (softmax_over(-2), "softmax-over-queries",
                 "The softmax runs over the queries, so no output is an average of values."),
                (softmax_over(1), "softmax-over-heads",
                 "The softmax runs over the heads: dim=1 is their axis, and a row no longer sums to 1."),
                (softmax_over(0), "softmax-over-batch", "The softmax runs over the images of the batch."),
                (_over_all, "softmax-over-all", "The softmax runs over queries and keys together."),
                (lambda s: s, "no-softmax", "The scores are used as weights without a softmax."),
                (lambda s: s / s.sum(-1, keepdim=True), "no-exponential",
                 "The scores are divided by their sum as they are; no exponential makes them positive."),
                (torch.sigmoid, "sigmoid", "A sigmoid stands in the place of the softmax."),
                (torch.relu, "relu", "A ReLU stands in the place of the softmax."),
                (torch.exp, "not-divided", "The exponentials are not divided by the sum of their row."),
                (lambda s: s.log_softmax(-1), "logarithms", "The values are averaged with the logarithms of weights."),
                (lambda s: s.softmax(-1).softmax(-1), "softmax-twice", "The softmax is taken twice."),
                (lambda s: (-s).softmax(-1), "scores-negated",
                 "The scores have the other sign: what fits least has the largest weight."),
                (lambda s: s.softmax(-1).mT, "weights-transposed",
                 "The weights are transposed before they meet the values."),
                (lambda s: s.mT.softmax(-1), "query-key-swapped",
                 "Queries and keys have changed places, or the scores are transposed: the keys ask."),
                (lambda s: s.softmax(-1).mean(1, keepdim=True).expand_as(s), "weights-averaged",
                 "The weights are averaged over the heads before they meet the values."),
                (lambda s: s.mean(1, keepdim=True).softmax(-1).expand_as(s), "weights-averaged",
                 "The scores are averaged over the heads, so all heads have the same weights."),
                (_masked(lambda ones: ones.triu(1)), "causal",
                 "No token reads a later one: there is a mask that nobody asked for."),
                (_masked(lambda ones: torch.eye(len(ones))), "own-token-masked",
                 "No token reads itself: there is a mask that nobody asked for."),
            ],
            "project": [
                (lambda out, w: out, "no-projection",
                 "The output projection is missing: the heads lie side by side and never meet."),
                (lambda out, w: out @ w, "projection-transposed",
                 "The output projection is multiplied in the wrong orientation."),
                (lambda out, w: out @ w.T @ w.T, "projected-twice", "The output projection is applied twice."),
            ],
            "cut": [
                (_reshaped, "cut-by-bare-reshape", _BARE_CUT),
                (lambda y, h: y.transpose(0, 1).reshape(len(y), y.shape[1], 3, h, -1).permute(2, 0, 3, 1, 4),
                 "cut-by-bare-reshape", "The axes of images and tokens are mixed by a bare reshape."),
                (_without_last_axis(lambda h: (h, 3, -1), 3, 0, 2, 1, 4), "heads-before-three",
                 "The fused matrix is cut into heads first and then into three, but it holds all queries, then all "
                 "keys, then all values."),
                (_without_last_axis(lambda h: (3, -1, h), 2, 0, 4, 1, 3), "cut-every-hth",
                 "A head gets every h-th number, where its numbers lie side by side."),
                (_without_last_axis(lambda h: (h, -1, 3), 4, 0, 2, 1, 3), "heads-before-three",
                 "Queries, keys and values are taken as every third number, but they lie one below the other."),
                (_without_last_axis(lambda h: (-1, h, 3), 4, 0, 2, 1, 3), "heads-before-three",
                 "Queries, keys and values are taken as every third number, but they lie one below the other."),
                (lambda y, h: y.reshape(3, len(y), h, y.shape[1], -1), "cut-by-bare-reshape",
                 "Everything is cut by one bare reshape, so queries, keys and values hold pieces of each other."),
                (lambda y, h: y.reshape(len(y), 3, h, y.shape[1], -1).transpose(0, 1), "cut-by-bare-reshape",
                 "Everything is cut by one bare reshape, so queries, keys and values hold pieces of each other."),
                (lambda y, h: y.reshape(len(y), h, y.shape[1], -1).chunk(3, -1), "cut-by-bare-reshape", _BARE_CUT),
            ],
            "order": [
                ((0, 2, 1), "key-value-swapped", "Keys and values have changed places."),
                ((2, 1, 0), "query-value-swapped", "Queries and values have changed places."),
                ((1, 2, 0), "parts-in-another-order", "Queries, keys and values are taken in another order."),
                ((2, 0, 1), "parts-in-another-order", "Queries, keys and values are taken in another order."),
                ((0, 1, 1), "keys-averaged", "The weights average the keys; the values are not used."),
                ((0, 1, 0), "queries-averaged", "The weights average the queries; the values are not used."),
                ((0, 0, 2), "queries-with-queries", "The queries are compared with the queries."),
                ((1, 1, 2), "keys-with-keys", "The keys are compared with the keys."),
                ((0, 2, 2), "queries-with-values", "The queries are compared with the values; the keys are not used."),
            ],
            "end": [
                (lambda out, x: out + x, "input-added",
                 "The input is added to the output: that is the block's part, not the attention's."),
            ],
        },
        likely=3,
    ),
    *one_mistake(
        "scale-after-softmax",
        "The division by the root comes after the softmax.",
        lambda x, w, p, h: attention(x, w, p, h, SCALES["none"]) / (x.shape[-1] // h) ** 0.5,
    ),
    *one_mistake(
        "one-head",
        "There is one head of the full width: nothing is cut.",
        lambda x, w, p, h: attention(x, w, p, 1),
        lambda x, w, p, h: attention(x, w, p, 1, lambda d, heads, tokens: (d / h) ** 0.5),
        lambda x, w, p, h: attention(x, w, p, 1, SCALES["none"]),
        lambda x, w, p, h: attention(x, w, p, 1, lambda d, heads, tokens: d // h),
    ),
    *one_mistake(
        "one-head-and-no-projection",
        "Two things are wrong. There is one head of the full width: nothing is cut. The output projection is missing.",
        lambda x, w, p, h: attention(x, w, p, 1, project=lambda out, w: out),
        lambda x, w, p, h: attention(x, w, p, 1, lambda d, heads, tokens: (d / h) ** 0.5, project=lambda out, w: out),
        lambda x, w, p, h: attention(x, w, p, 1, SCALES["none"], project=lambda out, w: out),
    ),
    *one_mistake(
        "projection-cut",
        "The projection is cut: each head meets its own part of it, where the projection mixes all heads.",
        lambda x, w, p, h: attention(x, w, _blocks_of(p, x.shape[-1] // h), h),
    ),
    *one_mistake(
        "norm-added",
        "There is a LayerNorm: that is the block's part, not the attention's.",
        lambda x, w, p, h: attention(F.layer_norm(x, x.shape[-1:]), w, p, h),
        lambda x, w, p, h: F.layer_norm(attention(x, w, p, h), x.shape[-1:]),
    ),
    *one_mistake(
        "tokens-not-together",
        "The axes of tokens and heads have not changed places, so in each token its heads attend to each other.",
        lambda x, w, p, h: attention(x, w, p, h, cut=_by_token, join=lambda out, x: out.flatten(2)),
        lambda x, w, p, h: attention(x, w, p, h, SCALES["root of all heads"], cut=_by_token,
                                     join=lambda out, x: out.flatten(2)),
        lambda x, w, p, h: attention(x, w, p, h, cut=_by_token, join=lambda out, x: _join(out, x).reshape(x.shape)),
    ),
    *one_mistake(
        "attends-over-the-batch",
        "The axes of images and tokens have changed places, so the images of a batch attend to each other.",
        lambda x, w, p, h: attention(x.transpose(0, 1), w, p, h).transpose(0, 1),
    ),
    *one_mistake(
        "tokens-cut",
        "The tokens are cut into pieces before the matrices: each head reads its own part of a token, where every "
        "head reads all of it.",
        lambda x, w, p, h: attention(x, _blocks_of(w, x.shape[-1] // h), p, h),
    ),
    *one_mistake(
        "projected-before",
        "The projection is applied to the tokens, before the attention, and not to its output.",
        lambda x, w, p, h: attention(x @ p.T, w, p, h, project=lambda out, w: out),
    ),
]  # fmt: skip
_KNOWN = [
    Known(r"don't multiply up to the size|invalid for input of size", "sizes-do-not-divide",
          "The sizes into which an axis is cut do not multiply up to its length."),
    Known(r"Received: \(\d+, \d+, \d+, \d+\)$", "heads-not-joined", "The heads are not joined: their axis is there."),
]  # fmt: skip


def _by_token(y, heads):
    return y.unflatten(2, (3, heads, -1)).permute(2, 0, 1, 3, 4)  # (3, B, T, h, d)


def _blocks_of(matrices: torch.Tensor, width: int) -> torch.Tensor:
    # Of each matrix (D, D), however many are below each other, the blocks on the diagonal.
    size = matrices.shape[1]
    number = torch.arange(size) // width  # of the head
    return matrices * (number.repeat(len(matrices) // size)[:, None] == number)
