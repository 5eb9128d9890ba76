"""Exercise attention.weights: attention weights from queries and keys, with a mask of what each query may read."""

from collections.abc import Callable

import torch

from vit_course.checks.tools.axes import axes_named
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.slips import Mistake, by_results, named_by_details
from vit_course.checks.tools.table import known, table
from vit_course.checks.tools.tensors import agree
from vit_course.checks.tools.usual import given


def weights(answer, draw):
    """`answer(q, k, keep)`: (B, h, T, d), (B, h, S, d), bool (B, T, S) -> (B, h, T, S), the attention weights."""
    draws = []
    for batch, heads, queries, keys, width in (draw.sizes(5, low=3, high=10), draw.sizes(5, low=3, high=10)):
        q, k = draw.normal(batch, heads, queries, width), draw.normal(batch, heads, keys, width)
        draws.append((q, k, _mask(draw, batch, queries, keys)))
    mistakes = [*table(__name__, "raised"), *by_results(table(__name__, "mistakes", share_out))]
    # What can be read off weights that are not right, whatever made them so.
    seen = [Mistake(one.slug, one.sentence, _seen(answer, one.function)) for one in table(__name__, "seen")]
    q, k, _ = draws[0]
    axes = dict(zip("BhTd", zip(q.shape, ("sequences", "heads", "queries", "width"), strict=True), strict=True))
    with named_by_details(*known(__name__, "mistakes")), axes_named(axes | {"S": (k.shape[2], "keys")}, "(B, h, T, S)"):
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


def _seen(answer: Callable, has: Callable) -> Callable:
    # The learner's own result where it has the property, and is not right.
    def function(q, k, keep) -> torch.Tensor:
        received, right = given(answer, q, k, keep), share_out(q, k, keep)
        whole = received.shape == right.shape and received.dtype == right.dtype and received.isfinite().all()
        if whole and not agree(received, right) and has(received, dot(q, k), keep[:, None], right):
            return received
        raise LookupError("not so")

    return function


def _ones(x: torch.Tensor) -> bool:
    return torch.allclose(x.sum(-1), torch.ones(()), atol=1e-4)


def _divided_by_another(received, scores, keep, right) -> bool:
    # The differences of the logarithms in a row are the differences of the scores, times one factor.
    shut = ~keep.expand_as(received)
    if not torch.equal(received == 0, right == 0) or (received < 0).any():
        return False
    raw, logs = (x.masked_fill(shut, torch.nan) for x in (scores, received.log()))
    raw, logs = raw - raw.nanmean(-1, keepdim=True), logs - logs.nanmean(-1, keepdim=True)
    factor = (raw * logs).nansum() / raw.square().nansum()
    again = (factor * scores).masked_fill(shut, -torch.inf).softmax(-1)
    return bool(abs(factor) > 1e-3) and torch.allclose(received, again, atol=1e-4)


def _masked_score(received, scores, keep, right) -> bool:
    # The other weights are in the right proportions, so only the masked keys have too much.
    allowed = received * keep
    proportions = allowed / allowed.sum(-1, keepdim=True)
    return bool((allowed.sum(-1) > 0).all()) and torch.allclose(proportions, right, atol=1e-4)
