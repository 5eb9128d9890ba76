"""Exercise attention.weights: attention weights from queries and keys, with a mask of what each query may read."""

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F

from vit_course.checks.tools.attention_mistakes import SCALE, SHARE
from vit_course.checks.tools.axes import axes_named
from vit_course.checks.tools.common import given
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Mistake, by_results, map_functions
from vit_course.checks.tools.tensors import agree


def weights(answer, draw):
    """`answer(q, k, keep)`: (B, h, T, d), (B, h, S, d), bool (B, T, S) -> (B, h, T, S), the attention weights."""
    draws = []
    for batch, heads, queries, keys, width in (draw.sizes(5, low=3, high=10), draw.sizes(5, low=3, high=10)):
        q, k = draw.normal(batch, heads, queries, width), draw.normal(batch, heads, keys, width)
        draws.append((q, k, _mask(draw, batch, queries, keys)))
    mistakes = [*RAISED, *by_results(MISTAKES, masked_weights)]
    properties = map_functions(PROPERTIES, partial(_result_with, answer))
    q, k, _ = draws[0]
    axes = dict(zip("BhTd", zip(q.shape, ("sequences", "heads", "queries", "width"), strict=True), strict=True))
    with axes_named(axes | {"S": (k.shape[2], "keys")}, "(B, h, T, S)"):
        same_function(answer, masked_weights, draws, mistakes, "(B, h, T, S)", otherwise=properties)


def _mask(draw, batch: int, queries: int, keys: int) -> torch.Tensor:
    """(B, T, S), random, with at least one True and one False in each row and in each column; also on diagonals."""
    keep = draw.uniform(batch, queries, keys) < 0.5
    sequence, query, key = torch.arange(batch), draw.permutation(queries), torch.arange(keys)
    step = (sequence[:, None, None] + query[:, None] + key) % min(queries, keys)  # each row and column has 0 and 1
    return (keep | (step == 0)) & (step != 1)


def dot(q, k):
    """(..., T, d), (..., S, d) -> (..., T, S), the scores before they are divided."""
    return q @ k.mT


def masked_weights(
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


def _mask_of(change: Callable) -> Callable:
    # Another mask (B or 1, h or 1, T or 1, S) in place of the right one.
    return lambda scores, keep, share: share(scores.masked_fill(~change(keep), -torch.inf))


def _mask_late(scores, keep, share):
    return share(scores) * keep[:, None]


# These raise an error.
RAISED = [
    Mistake(
        "mask-misaligned",
        "The first axis of the mask, that of the sequences, is lined up with the head axis of the scores.",
        lambda q, k, keep: dot(q, k).masked_fill(~keep, -math.inf),
        lambda q, k, keep: dot(q, k) * keep,
        lambda q, k, keep: torch.where(keep, dot(q, k), -math.inf),
    ),
]

MISTAKES = [
    Mistake(
        "nan-from-infinity",
        (
            "Everything is NaN, as when infinity is multiplied by 0 or subtracted from infinity, or when a "
            "row has no key."
        ),
        lambda q, k, keep: torch.full((*q.shape[:3], k.shape[2]), torch.nan),
    ),
    Mistake(
        "no-softmax",
        "These are scores: some are negative, and the rows do not sum to 1.",
        {"share": lambda scores: scores},
        {"share": lambda scores: scores, "mask": _mask_late},
    ),
    Mistake(
        "mask-ignored",
        "The mask has no effect: masked keys still have weights.",
        {"mask": lambda scores, keep, share: share(scores)},
    ),
    Mistake(
        "masked-after-softmax",
        (
            "The mask comes after the softmax, which has already divided the weight among all keys: the "
            "other keys do not get the weight of the masked ones."
        ),
        {"mask": _mask_late},
        {"mask": lambda scores, keep, share: share(scores).masked_fill(~keep[:, None], -math.inf)},
    ),
    Mistake(
        "masked-after-softmax-and-no-scale",
        "Two things are wrong. The mask comes after the softmax. The scores are not divided.",
        {"mask": _mask_late, "scale": lambda d, heads, tokens: 1.0},
    ),
    Mistake(
        "score-zero",
        "The masked keys have a score of 0 or close to it, and a softmax still gives such a score some weight.",
        {"mask": lambda scores, keep, share: share(scores * keep[:, None])},
    ),
    Mistake(
        "mask-inverted",
        "The mask is used the wrong way round: the weights are on the masked keys.",
        {"mask": _mask_of(lambda keep: ~keep[:, None])},
    ),
    Mistake(
        "mask-added",
        "The mask is added or subtracted as 0 and 1, which changes the scores a little and excludes no key.",
        {"mask": lambda scores, keep, share: share(scores + keep[:, None])},
        {"mask": lambda scores, keep, share: share(scores - keep[:, None].float())},
    ),
    Mistake(
        "mask-of-one",
        "The mask of the first sequence is used for all of them.",
        {"mask": _mask_of(lambda keep: keep[:1, None])},
    ),
    Mistake(
        "mask-of-one",
        "The mask of the first query is used for all of them.",
        {"mask": _mask_of(lambda keep: keep[:, None, :1])},
    ),
    Mistake(
        "causal",
        "No query attends to a later key: there is a triangle that the exercise does not ask for.",
        {"mask": _mask_of(lambda keep: keep.tril()[:, None])},
        {"mask": _mask_of(lambda keep: torch.ones_like(keep).tril()[:, None])},
    ),
    Mistake(
        "softmax-twice",
        "The softmax is applied twice, before the mask and after it.",
        {"mask": lambda scores, keep, share: share(_mask_late(scores, keep, share))},
        {"mask": lambda scores, keep, share: share(share(scores).masked_fill(~keep[:, None], -math.inf))},
    ),
    *SHARE,
    *SCALE,
    Mistake(
        "scale-by-tokens",
        "The scores are divided by the square root of the number of queries, not of the width of the vectors.",
        lambda q, k, keep: masked_weights(q, k, keep, scale=lambda d, heads, tokens: q.shape[2] ** 0.5),
    ),
    Mistake(
        "cosines",
        "Queries and keys are normalised to length 1 before they are compared, but their lengths matter.",
        lambda q, k, keep: masked_weights(F.normalize(q, dim=-1), F.normalize(k, dim=-1), keep),
        lambda q, k, keep: masked_weights(F.normalize(q, dim=-1), F.normalize(k, dim=-1), keep, scale=lambda *_: 1),
    ),
]


def _result_with(answer: Callable, has: Callable) -> Callable:
    # A function that returns the learner's own result where it is wrong and has the property.
    def function(q, k, keep) -> torch.Tensor:
        received, right = given(answer, q, k, keep), masked_weights(q, k, keep)
        whole = received.shape == right.shape and received.dtype == right.dtype and received.isfinite().all()
        if whole and not agree(received, right) and has(received, dot(q, k), keep[:, None], right):
            return received
        raise LookupError("not so")

    return function


def _all_alike(received, scores, keep, right) -> bool:
    return torch.allclose(received, (keep / keep.sum(-1, keepdim=True)).expand_as(received), atol=1e-4)


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


def _masked_keys_read(received, scores, keep, right) -> bool:
    # The other weights are in the right proportions, so only the masked keys have too much.
    allowed = received * keep
    sums = allowed.sum(-1, keepdim=True)
    in_proportion = bool((sums > 0).all()) and torch.allclose(allowed / sums, right, atol=1e-4)
    return in_proportion and _rows_are_one(received) and (received * ~keep).amax() > 0


def _rows_are_one(received) -> bool:
    return torch.allclose(received.sum(-1), torch.ones(()), atol=1e-4)


# Properties of wrong weights that name the mistake, whatever has caused it: the result, the scores before they are
# divided, the mask (B, 1, T, S) and the right weights.
PROPERTIES = [
    Mistake("all-alike", "All unmasked keys of a query have the same weight: the scores are not used.", _all_alike),
    Mistake(
        "negative-weights",
        "Some of the weights are negative; a softmax never gives negative numbers.",
        lambda received, scores, keep, right: (received < 0).any(),
    ),
    Mistake(
        "scaled-otherwise",
        "The scores are divided by a number other than the square root of the width of a head.",
        _divided_by_another,
    ),
    Mistake(
        "masked-keys-read",
        "Masked keys still have weights: their scores are not low enough for a softmax, or some are not masked.",
        _masked_keys_read,
    ),
    Mistake(
        "rows-not-one",
        "The masked keys have no weights, but the weights of the others do not sum to 1 in each row.",
        lambda received, scores, keep, right: not (received * ~keep).any() and not _rows_are_one(received),
    ),
    Mistake(
        "masked-keys-have-weight",
        "Masked keys have numbers other than 0.",
        lambda received, scores, keep, right: (received * ~keep).abs().amax() > 1e-4,
    ),
    Mistake(
        "shares-differ",
        (
            "Masked keys have no weight and each row sums to 1, but the weights of the other keys are wrong: "
            "look at the scores."
        ),
        lambda received, scores, keep, right: not (received * ~keep).any() and (received[right > 1e-4] > 0).all(),
    ),
]
