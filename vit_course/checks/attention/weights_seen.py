"""What can be read off attention weights that are not right, whatever made them so."""

from collections.abc import Callable

import torch

from vit_course.checks.attention.weights_slips import INFINITY, dot, share_out
from vit_course.checks.tools.functions import Mistake
from vit_course.checks.tools.tensors import agree
from vit_course.checks.tools.usual import given


def seen_in(answer) -> list[Mistake]:
    """Mistakes known by a property of the learner's result; each gives the result itself where it has the property."""
    return [Mistake(slug, sentence, lambda *a, has=has: _where(has, answer, *a)) for slug, sentence, has in _SEEN]


def _where(has: Callable, answer, q, k, keep) -> torch.Tensor:
    received, right = given(answer, q, k, keep), share_out(q, k, keep)
    whole = received.shape == right.shape and received.dtype == right.dtype and received.isfinite().all()
    if whole and not agree(received, right) and has(received, q, k, keep, right):
        return received
    raise LookupError("not so")


def _divided_by_another(received, q, k, keep, right) -> bool:
    # The differences of the logarithms in a row are the differences of the scores, times one factor.
    shut = ~keep[:, None].expand_as(received)
    if not torch.equal(received == 0, right == 0) or (received < 0).any():
        return False
    raw, logs = (x.masked_fill(shut, torch.nan) for x in (dot(q, k), received.log()))
    raw, logs = raw - raw.nanmean(-1, keepdim=True), logs - logs.nanmean(-1, keepdim=True)
    factor = (raw * logs).nansum() / raw.square().nansum()
    return abs(factor) > 1e-3 and torch.allclose(
        received, (factor * dot(q, k)).masked_fill(shut, -INFINITY).softmax(-1), atol=1e-4
    )


def _masked_score(received, q, k, keep, right) -> bool:
    # The other weights are in the right proportions, so only the masked keys have too much.
    open_ = received * keep[:, None]
    return bool((open_.sum(-1) > 0).all()) and torch.allclose(open_ / open_.sum(-1, keepdim=True), right, atol=1e-4)


def _no_masked_key(received, keep) -> bool:
    return not (received * ~keep[:, None]).any()


_SEEN = [
    (
        "all-alike",
        "All keys that a query may read have the same weight: the scores have no part in it.",
        lambda received, q, k, keep, right: torch.allclose(
            received, (keep / keep.sum(-1, keepdim=True))[:, None].expand_as(received), atol=1e-4
        ),
    ),
    (
        "negative-weights",
        "Some of the weights are negative, which no softmax makes.",
        lambda received, q, k, keep, right: bool((received < 0).any()),
    ),
    (
        "scaled-otherwise",
        "The scores are divided by another number than the root of the width of a head.",
        _divided_by_another,
    ),
    (
        "masked-keys-read",
        "The masked keys still have weights: what they get for a score is not small enough for a softmax.",
        lambda received, q, k, keep, right: (
            _masked_score(received, q, k, keep, right)
            and torch.allclose(received.sum(-1), torch.ones(()), atol=1e-4)
            and bool((received * ~keep[:, None]).amax() > 0)
        ),
    ),
    (
        "rows-not-one",
        "The masked keys have no weights, and the weights of the others do not sum to 1 in each row.",
        lambda received, q, k, keep, right: (
            _no_masked_key(received, keep) and not torch.allclose(received.sum(-1), torch.ones(()), atol=1e-4)
        ),
    ),
    (
        "masked-keys-have-weight",
        "Keys that may not be read have numbers other than 0.",
        lambda received, q, k, keep, right: bool((received * ~keep[:, None]).abs().amax() > 1e-4),
    ),
    (
        "shares-differ",
        "Masked keys have no weight and each row sums to 1. How a row is shared among its other keys is not right: "
        "look at the scores.",
        lambda received, q, k, keep, right: _no_masked_key(received, keep) and bool((received[right > 1e-4] > 0).all()),
    ),
]
