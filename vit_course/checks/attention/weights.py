"""Exercise attention.weights: attention weights from queries and keys, with a mask of what each query may read."""

import torch

from vit_course.checks.attention.weights_seen import seen_in
from vit_course.checks.exercise import exercise
from vit_course.checks.tools.axes import axes_named
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.slips import by_results, named_by_details
from vit_course.checks.tools.table import known, table


@exercise("4.1", "Weights with a mask", section="All queries at once", difficulty=2, minutes=10)
def weights(answer, draw):
    """`answer(q, k, keep)`: (B, h, T, d), (B, h, S, d), bool (B, T, S) -> (B, h, T, S), the attention weights."""
    draws = []
    for batch, heads, queries, keys, width in (draw.sizes(5, low=3, high=10), draw.sizes(5, low=3, high=10)):
        q, k = draw.normal(batch, heads, queries, width), draw.normal(batch, heads, keys, width)
        draws.append((q, k, _mask(draw, batch, queries, keys)))
    by_result = by_results(table(__name__, "mistakes", share_out))
    mistakes = [*table(__name__, "raised"), *by_result]
    q, k, _ = draws[0]
    axes = dict(zip("BhTd", zip(q.shape, ("sequences", "heads", "queries", "width"), strict=True), strict=True))
    with named_by_details(*known(__name__, "mistakes")), axes_named(axes | {"S": (k.shape[2], "keys")}, "(B, h, T, S)"):
        seen = seen_in(answer, share_out, dot)
        same_function(answer, share_out, draws, mistakes, "(B, h, T, S)", otherwise=seen)


def _mask(draw, batch: int, queries: int, keys: int) -> torch.Tensor:
    """(B, T, S), random, with at least one True and one False in each row and in each column."""
    keep = draw.uniform(batch, queries, keys) < 0.5
    shorter = min(queries, keys)
    step = (torch.arange(keys) - torch.arange(queries)[:, None]) % shorter  # (T, S)
    return (keep | (step == 0)) & (step != 1)


def dot(q, k):
    """(..., T, d), (..., S, d) -> (..., T, S), the scores before they are divided."""
    return q @ k.mT


def share_out(
    q,
    k,
    keep,
    compare=dot,
    scale=lambda d, heads, tokens: d**0.5,
    mask=lambda scores, keep, share: share(scores.masked_fill(~keep[:, None], -torch.inf)),
    share=lambda scores: scores.softmax(-1),
):
    """The right weights, and with one of the steps replaced wrong ones."""
    return mask(compare(q, k) / scale(q.shape[-1], q.shape[1], k.shape[-2]), keep, share)


def _filled(number: float):
    return lambda s, keep, share: share(s.masked_fill(~keep[:, None], number))


def _filled_by(mask):
    return lambda s, keep, share: share(s.masked_fill(~mask(keep), -torch.inf))


def _late(scores, keep, share):
    return share(scores) * keep[:, None]
