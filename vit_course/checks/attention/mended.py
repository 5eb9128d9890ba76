"""Exercise attention.mended: self-attention from a fused matrix, to be repaired."""

from collections.abc import Callable
from functools import partial
from itertools import permutations

from vit_course.checks.tools.axes import axes_named
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.slips import Mistake, by_results, named_by_details
from vit_course.checks.tools.table import known, table


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
    mistakes = by_results([*joins, *table(__name__, "mistakes", attention)])
    x, qkv, _, heads = draws[0]
    axes = dict(zip("BTD", zip(x.shape, ("images", "tokens", "hidden width"), strict=True), strict=True))
    axes |= {"h": (heads, "heads"), "d": (x.shape[2] // heads, "width of a head"), "3D": (len(qkv), "fused width")}
    with named_by_details(*known(__name__, "known")), axes_named(axes, asked="(B, T, D)"):
        same_function(answer, attention, draws, mistakes, axes="(B, T, D)")


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


def _by_token(y, heads):
    return y.unflatten(2, (3, heads, -1)).permute(2, 0, 1, 3, 4)  # (3, B, T, h, d)
