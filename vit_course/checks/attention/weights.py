"""Exercise attention.weights: attention weights from queries and keys, with a mask of what each query may read."""

import math
from collections.abc import Callable

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
from vit_course.checks.tools.common import given
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Known, Mistake, Slip, by_results, named_by_details, wrong_functions
from vit_course.checks.tools.tensors import agree


def weights(answer, draw):
    """`answer(q, k, keep)`: (B, h, T, d), (B, h, S, d), bool (B, T, S) -> (B, h, T, S), the attention weights."""
    draws = []
    for batch, heads, queries, keys, width in (draw.sizes(5, low=3, high=10), draw.sizes(5, low=3, high=10)):
        q, k = draw.normal(batch, heads, queries, width), draw.normal(batch, heads, keys, width)
        draws.append((q, k, _mask(draw, batch, queries, keys)))
    mistakes = [*wrong_functions(RAISED), *by_results(wrong_functions(MISTAKES, share_out, pairs=5))]
    # What can be read off weights that are not right, whatever made them so.
    seen = [Mistake(one.slug, one.sentence, _seen(answer, one.function)) for one in wrong_functions(SEEN)]
    q, k, _ = draws[0]
    axes = dict(zip("BhTd", zip(q.shape, ("sequences", "heads", "queries", "width"), strict=True), strict=True))
    with named_by_details(*ERRORS), axes_named(axes | {"S": (k.shape[2], "keys")}, "(B, h, T, S)"):
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


RAISED = [
    Slip(
        "mask-misaligned",
        "The image axis of the mask is lined up with the head axis of the scores.",
        lambda q, k, keep: share_out(q, k, keep, mask=_filled_by(lambda keep: keep)),
        lambda q, k, keep: dot(q, k) * keep,
        lambda q, k, keep: torch.where(keep, dot(q, k), -math.inf),
    ),
]

ERRORS = [
    Known(r"operator\.invert\)", "mask-not-bool", "~ is applied to a mask of numbers; it expects True and False."),
    Known(
        "with a bool tensor is not supported",
        "bools-subtracted",
        "True and False are subtracted as if they were numbers.",
    ),
    Known("only supports boolean masks", "mask-not-bool", "The tensor that says where to mask is not of type bool."),
]

MISTAKES = {
    "result": [
        Slip(
            "nan-from-infinity",
            (
                "Everything is NaN, as when infinity is multiplied by 0 or subtracted from infinity, or when a "
                "row has no key."
            ),
            lambda q, k, keep: torch.full((*q.shape[:3], k.shape[2]), torch.nan),
        ),
        Slip(
            "no-softmax",
            "These are scores: some are negative, and the rows do not sum to 1.",
            lambda q, k, keep: share_out(q, k, keep, share=lambda s: s),
            lambda q, k, keep: share_out(q, k, keep, share=lambda s: s, mask=_late),
            lambda q, k, keep: share_out(q, k, keep, share=lambda s: s, mask=_filled(-1e9)),
        ),
    ],
    "mask": [
        Slip(
            "mask-ignored", "The mask has no effect: masked keys still have weights.", lambda s, keep, share: share(s)
        ),
        Slip(
            "masked-after-softmax",
            (
                "The mask comes after the softmax, which has already divided the weight among all keys: the "
                "weight of the masked keys is lost, and the rows sum to less than 1."
            ),
            _late,
        ),
        Slip(
            "score-zero",
            "The masked keys have a score of 0 or close to it, and a softmax still gives such a score some weight.",
            _filled(0),
        ),
        Slip(
            "mask-inverted",
            "The mask is used the wrong way round: the weights are on the masked keys.",
            lambda s, keep, share: share(s.masked_fill(keep[:, None], -math.inf)),
        ),
        Slip(
            "mask-added",
            "The mask is added as 0 and 1, which changes the scores a little and excludes no key.",
            lambda s, keep, share: share(s + keep[:, None]),
            lambda s, keep, share: share(s + (~keep)[:, None]),
        ),
        Slip(
            "mask-added",
            "The mask is subtracted as 0 and 1, which changes the scores a little and excludes no key.",
            lambda s, keep, share: share(s - (~keep)[:, None].float()),
        ),
        Slip(
            "mask-of-one",
            "The mask of the first sequence is used for all of them.",
            _filled_by(lambda keep: keep[:1, None]),
        ),
        Slip(
            "mask-of-one",
            "The mask of the first query is used for all of them.",
            _filled_by(lambda keep: keep[:, None, :1]),
        ),
        Slip(
            "causal",
            "No query attends to a later key: the mask is reduced to a triangle, which the exercise does not ask for.",
            _filled_by(lambda keep: keep.tril()[:, None]),
        ),
        Slip(
            "causal",
            "No query attends to a later key: a triangle is used instead of the mask.",
            _filled_by(lambda keep: torch.ones_like(keep).tril()[:, None]),
        ),
        Slip(
            "masked-after-softmax",
            (
                "Minus infinity is filled in after the softmax: it is not a weight, and it comes too late to "
                "change the other weights."
            ),
            lambda s, keep, share: share(s).masked_fill(~keep[:, None], -math.inf),
        ),
        Slip(
            "softmax-twice",
            "The softmax is applied twice, before the mask and after it.",
            lambda s, keep, share: share(_late(s, keep, share)),
            lambda s, keep, share: share(share(s).masked_fill(~keep[:, None], -math.inf)),
        ),
    ],
    "share": [
        *SHARE_AXES,
        *SHARE_OTHERS,
    ],
    "scale": [
        *SCALE_NONE,
        *SCALE_ROOT_OF_ALL_HEADS,
        *SCALE_OTHERS,
    ],
    "compare": [
        Slip(
            "query-key-swapped",
            "Queries and keys are swapped: a row of the scores belongs to a key.",
            lambda q, k: k @ q.mT,
        ),
        Slip("queries-with-queries", "The queries are compared with the queries.", lambda q, k: q @ q.mT),
        Slip("keys-with-keys", "The keys are compared with the keys.", lambda q, k: k @ k.mT),
    ],
    "result-2": [
        Slip(
            "score-zero",
            "The masked keys have a score of 0 or close to it, and a softmax still gives such a score some weight.",
            lambda q, k, keep: share_out(q, k, keep, mask=_filled(-1e-09)),
        ),
        Slip(
            "scale-by-tokens",
            "The scores are divided by the square root of the number of queries, not of the width of the vectors.",
            lambda q, k, keep: share_out(q, k, keep, scale=lambda d, h, tokens: math.sqrt(q.shape[-2])),
        ),
        Slip(
            "query-key-swapped",
            "Queries and keys are swapped: a row belongs to a key.",
            lambda q, k, keep: share_out(k, q, keep.mT),
            lambda q, k, keep: share_out(k, q, keep.mT).mT,
        ),
        Slip(
            "queries-with-queries",
            "The queries are compared with the queries, and there is no mask.",
            lambda q, k, keep: share_out(q, q, keep, mask=lambda s, keep, share: share(s)),
        ),
        Slip(
            "cosines",
            "Queries and keys are normalised to length 1 before they are compared, but their lengths matter.",
            lambda q, k, keep: share_out(F.normalize(q, dim=-1), F.normalize(k, dim=-1), keep, scale=lambda *_: 1),
            lambda q, k, keep: share_out(F.normalize(q, dim=-1), F.normalize(k, dim=-1), keep),
        ),
        Slip(
            "scaled-after-softmax",
            "The division comes after the softmax, so the rows no longer sum to 1.",
            lambda q, k, keep: share_out(q, k, keep, scale=lambda *_: 1) / math.sqrt(q.shape[-1]),
        ),
        Slip(
            "one-head",
            "Only the first head is there; the result should have one table of weights for each head.",
            lambda q, k, keep: share_out(q[:, :1], k[:, :1], keep)[:, 0],
            lambda q, k, keep: share_out(q[:, :1], k[:, :1], keep),
        ),
    ],
}

SEEN = [
    Slip(
        "all-alike",
        "All unmasked keys of a query have the same weight: the scores are not used.",
        lambda received, scores, keep, right: torch.allclose(
            received, (keep / keep.sum(-1, keepdim=True)).expand_as(received), atol=1e-4
        ),
    ),
    Slip(
        "negative-weights",
        "Some of the weights are negative; a softmax never gives negative numbers.",
        lambda received, scores, keep, right: (received < 0).any(),
    ),
    Slip(
        "scaled-otherwise",
        "The scores are divided by a number other than the square root of the width of a head.",
        lambda received, scores, keep, right: _divided_by_another(received, scores, keep, right),
    ),
    Slip(
        "masked-keys-read",
        "The masked keys still have weights: their scores are not low enough for a softmax.",
        lambda received, scores, keep, right: (
            _masked_score(received, scores, keep, right) and _ones(received) and (received * ~keep).amax() > 0
        ),
    ),
    Slip(
        "rows-not-one",
        "The masked keys have no weights, but the weights of the others do not sum to 1 in each row.",
        lambda received, scores, keep, right: not (received * ~keep).any() and not _ones(received),
    ),
    Slip(
        "masked-keys-have-weight",
        "Masked keys have numbers other than 0.",
        lambda received, scores, keep, right: (received * ~keep).abs().amax() > 1e-4,
    ),
    Slip(
        "shares-differ",
        (
            "Masked keys have no weight and each row sums to 1, but the weights of the other keys are wrong: "
            "look at the scores."
        ),
        lambda received, scores, keep, right: not (received * ~keep).any() and (received[right > 1e-4] > 0).all(),
    ),
]
