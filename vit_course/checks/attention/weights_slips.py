"""The attention weights of the exercise, and those that come out where one of the steps is wrong, or two are."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F

from vit_course.checks.attention.scores import SCALES, softmax_over, softmax_over_keys
from vit_course.checks.tools.functions import Mistake, one_mistake
from vit_course.checks.tools.slips import slips

INFINITY = float("inf")


def dot(q, k):
    """(..., T, d), (..., S, d) -> (..., T, S), the scores before they are divided."""
    return q @ k.transpose(-2, -1)


def _shut(scores, keep, share):
    return share(scores.masked_fill(~keep[:, None], -INFINITY))


def share_out(q, k, keep, compare=dot, scale=SCALES["right"], mask=_shut, share=softmax_over_keys):
    """The right weights, and with one of the steps replaced wrong ones."""
    return mask(compare(q, k) / scale(q.shape[-1], q.shape[1], k.shape[-2]), keep, share)


def _filled(number: float, inverted: bool = False) -> Callable:
    return lambda s, keep, share: share(s.masked_fill((keep if inverted else ~keep)[:, None], number))


def _filled_by(mask: Callable) -> Callable:
    return lambda s, keep, share: share(s.masked_fill(~mask(keep), -INFINITY))


def _late(scores, keep, share):
    return share(scores) * keep[:, None]


_ZERO = "The masked keys have a score of 0 or close to it, and a softmax gives such a score a weight."
# Known by their errors, which nothing else raises.
RAISED = [
    *one_mistake(
        "mask-misaligned",
        "The mask's axis of images stands where the scores have their heads.",
        lambda q, k, keep: share_out(q, k, keep, mask=_filled_by(lambda keep: keep)),
        lambda q, k, keep: dot(q, k) * keep,
        lambda q, k, keep: torch.where(keep, dot(q, k), -INFINITY),
    ),
    Mistake(
        "keys-not-transposed",
        "Queries are multiplied by keys whose last two axes stand as they were: the widths do not meet.",
        lambda q, k, keep: q @ k,
    ),
]
MISTAKES = [
    Mistake(
        "nan-from-infinity",
        "Everything is NaN, as where infinity is multiplied by 0 or subtracted from infinity, or a row has no key.",
        lambda q, k, keep: torch.full((*q.shape[:3], k.shape[2]), torch.nan),
    ),
    # Not by the slips: here no softmax follows, whatever stands in its place.
    *one_mistake(
        "no-softmax",
        "These are scores: some are negative, and the rows do not sum to 1.",
        lambda q, k, keep: share_out(q, k, keep, share=lambda s: s),
        lambda q, k, keep: share_out(q, k, keep, share=lambda s: s, mask=_late),
        lambda q, k, keep: share_out(q, k, keep, share=lambda s: s, mask=_filled(-1e9)),
    ),
    *slips(
        share_out,
        {
            "mask": [
                (lambda s, keep, share: share(s), "mask-ignored",
                 "The mask has no effect: keys that may not be read have weights."),
                (_late, "masked-after-softmax",
                 "The softmax has already shared the weight out among all keys when the mask comes, so what the masked "
                 "keys had is lost and the rows sum to less than 1."),
                (_filled(0), "score-zero", _ZERO),
                (_filled(-INFINITY, inverted=True), "mask-inverted",
                 "The mask is read the wrong way round: the weights are on the keys that may not be read."),
                (lambda s, keep, share: share(s + keep[:, None]), "mask-added",
                 "The mask is added as 0 and 1, which moves the scores a little and shuts out nothing."),
                (lambda s, keep, share: share(s + (~keep)[:, None]), "mask-added",
                 "The mask is added as 0 and 1, which moves the scores a little and shuts out nothing."),
                (lambda s, keep, share: share(s - (~keep)[:, None].float()), "mask-added",
                 "The mask is subtracted as 0 and 1, which moves the scores a little and shuts out nothing."),
                (_filled(1e9), "wrong-sign",
                 "The scores of the masked keys are huge, so these keys take all the weight."),
                (lambda s, keep, share: share(s * torch.where(keep, 1, -1e9)[:, None]), "scores-multiplied",
                 "The scores of the masked keys are multiplied by a large negative number, which makes those that were "
                 "negative huge."),
                (lambda s, keep, share: share(s * torch.where(keep, 1, -INFINITY)[:, None]), "scores-multiplied",
                 "The scores of the masked keys are multiplied by minus infinity, which makes those that were "
                 "negative infinite."),
                (_filled_by(lambda keep: keep[:1, None]), "mask-of-one",
                 "The mask of the first sequence is used for all of them."),
                (_filled_by(lambda keep: keep[:, None, :1]), "mask-of-one",
                 "The mask of the first query is used for all of them."),
                (_filled_by(lambda keep: keep.tril()[:, None]), "causal",
                 "No query reads a later key: the mask is cut to a triangle, which nobody asked for."),
                (_filled_by(lambda keep: torch.ones_like(keep).tril()[:, None]), "causal",
                 "No query reads a later key: a triangle stands in the place of the mask."),
                (lambda s, keep, share: share(s).masked_fill(~keep[:, None], -INFINITY), "masked-after-softmax",
                 "Minus infinity is put in after the softmax: it is no weight, and it comes too late for the others."),
                (lambda s, keep, share: _late(s, keep, share) / keep[:, None].sum(-1, keepdim=True),
                 "divided-by-the-number",
                 "After the mask each row is divided by the number of its keys, not by the sum of its weights."),
                (lambda s, keep, share: share(_late(s, keep, share)), "softmax-twice",
                 "The softmax is taken twice, before the mask and after it."),
                (lambda s, keep, share: share(share(s).masked_fill(~keep[:, None], -INFINITY)), "softmax-twice",
                 "The softmax is taken twice, before the mask and after it."),
            ],
            "share": [
                (softmax_over(-2), "softmax-over-queries",
                 "The softmax runs over the queries: the numbers that one key gets sum to 1, "
                 "where the numbers that one query gives should."),
                (softmax_over(1), "softmax-over-heads",
                 "The softmax runs over the heads, so heads compete for a token."),
                (softmax_over(0), "softmax-over-batch", "The softmax runs over the sequences of the batch."),
                (lambda s: s.flatten(2).softmax(-1).unflatten(2, s.shape[2:]), "softmax-over-all",
                 "The softmax runs over queries and keys together: the whole table sums to 1, and not each row."),
                (lambda s: s.softmax(-1).softmax(-1), "softmax-twice", "The softmax is taken twice."),
                (lambda s: s.log_softmax(-1), "logarithms", "These are the logarithms of weights."),
                (torch.sigmoid, "sigmoid",
                 "A sigmoid makes each number one from 0 to 1, and the rows do not sum to 1."),
                (torch.exp, "not-divided",
                 "These are exponentials that nothing divides by the sum of their row."),
                (lambda s: s.exp() / s.exp().sum(), "softmax-over-all",
                 "The exponentials are divided by the sum of all of them, and not of their row."),
                (lambda s: s / s.sum(-1, keepdim=True), "no-exponential",
                 "The scores are divided by their sum as they are; no exponential makes them positive."),
                (lambda s: (-s).softmax(-1), "scores-negated",
                 "The scores have the other sign: what fits least has the largest weight."),
                (lambda s: s.softmax(-1).mT, "weights-transposed",
                 "The weights are transposed: their columns and not their rows sum to 1."),
            ],
            "scale": [
                (SCALES["none"], "no-scale",
                 "The scores go into the softmax as they are, so their spread grows with the width of the head."),
                (SCALES["width"], "scale-by-d",
                 "The scores are divided by the width itself, and the weights come out too even."),
                (SCALES["root of all heads"], "sqrt-of-hidden-width",
                 "The scores are divided by the root of the width of all heads together, not of one head."),
                (SCALES["all heads"], "scale-by-hidden-width",
                 "The scores are divided by the width of all heads together."),
                (SCALES["root of tokens"], "scale-by-tokens",
                 "The scores are divided by the root of a number of tokens, not of the width of the vectors."),
                (SCALES["root of heads"], "scale-by-heads",
                 "The scores are divided by the root of the number of heads, not of the width of the vectors."),
                (SCALES["upside down"], "multiplied-by-root",
                 "The scores are multiplied by the root of the width where they should shrink."),
            ],
            "compare": [
                (lambda q, k: k @ q.mT, "query-key-swapped",
                 "Queries and keys have changed places: a row of the scores belongs to a key."),
                (lambda q, k: q @ q.mT, "queries-with-queries", "The queries are compared with the queries."),
                (lambda q, k: k @ k.mT, "keys-with-keys", "The keys are compared with the keys."),
            ],
        },
        likely=5,
    ),
    *one_mistake("score-zero", _ZERO, lambda q, k, keep: share_out(q, k, keep, mask=_filled(-1e-9))),
    *one_mistake(
        "scale-by-tokens",
        "The scores are divided by the root of the number of queries, not of the width of the vectors.",
        lambda q, k, keep: share_out(q, k, keep, scale=lambda d, h, tokens: math.sqrt(q.shape[-2])),
    ),
    *one_mistake(
        "query-key-swapped",
        "Queries and keys have changed places: a row belongs to a key.",
        lambda q, k, keep: share_out(k, q, keep.mT),
        lambda q, k, keep: share_out(k, q, keep.mT).mT,
    ),
    *one_mistake(
        "queries-with-queries",
        "The queries are compared with the queries, and there is no mask.",
        lambda q, k, keep: share_out(q, q, keep, mask=lambda s, keep, share: share(s)),
    ),
    *one_mistake(
        "cosines",
        "Queries and keys are brought to the length 1 before they are compared: their lengths count.",
        lambda q, k, keep: share_out(F.normalize(q, dim=-1), F.normalize(k, dim=-1), keep, scale=SCALES["none"]),
        lambda q, k, keep: share_out(F.normalize(q, dim=-1), F.normalize(k, dim=-1), keep),
    ),
    *one_mistake(
        "scaled-after-softmax",
        "The division comes after the softmax: the rows no longer sum to 1.",
        lambda q, k, keep: share_out(q, k, keep, scale=SCALES["none"]) / math.sqrt(q.shape[-1]),
    ),
    *one_mistake(
        "one-head",
        "Only the first head is there; the result has one table of weights for each head.",
        lambda q, k, keep: share_out(q[:, :1], k[:, :1], keep)[:, 0],
        lambda q, k, keep: share_out(q[:, :1], k[:, :1], keep),
    ),
    *one_mistake(
        "values-averaged",
        "The weights have been multiplied with something: the weights themselves are asked for.",
        lambda q, k, keep: share_out(q, k, keep) @ k,
    ),
    *one_mistake(
        "not-the-weights",
        "These are the numbers of the keys with the largest weights, not the weights.",
        lambda q, k, keep: share_out(q, k, keep).argmax(-1),
    ),
]  # fmt: skip
