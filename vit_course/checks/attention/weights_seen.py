"""What can be read off attention weights that are not right, whatever made them so."""

from collections.abc import Callable

import torch

from vit_course.checks.tools.slips import Mistake
from vit_course.checks.tools.table import table
from vit_course.checks.tools.tensors import agree
from vit_course.checks.tools.usual import given


def seen_in(answer, reference: Callable, dot: Callable) -> list[Mistake]:
    """Mistakes known by a property of the learner's result; each gives the result itself where it has the property."""

    def where(has: Callable) -> Callable:
        def function(q, k, keep) -> torch.Tensor:
            received, right = given(answer, q, k, keep), reference(q, k, keep)
            whole = received.shape == right.shape and received.dtype == right.dtype and received.isfinite().all()
            if whole and not agree(received, right) and has(received, dot(q, k), keep[:, None], right):
                return received
            raise LookupError("not so")

        return function

    found = table(__name__, "seen")
    return [Mistake(one.slug, one.sentence, where(one.function)) for one in found]


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
