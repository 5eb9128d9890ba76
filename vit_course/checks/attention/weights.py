"""Exercise attention.weights: attention weights from queries and keys, with a mask of what each query may read."""

import math

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, one_mistake, same_function

INFINITY = float("inf")


@exercise("Weights with a mask", section="All queries at once", difficulty=2, minutes=10)
def weights(answer, draw):
    """`answer(q, k, keep)`: (B, h, T, d), (B, h, S, d), bool (B, T, S) -> (B, h, T, S), the attention weights."""
    draws = []
    for batch, heads, queries, keys, width in (draw.sizes(5, low=3, high=10), draw.sizes(5, low=3, high=10)):
        q, k = draw.normal(batch, heads, queries, width), draw.normal(batch, heads, keys, width)
        draws.append((q, k, _mask(draw, batch, queries, keys)))

    def scores(q, k, divisor=None):
        return q @ k.transpose(-2, -1) / (divisor or math.sqrt(q.shape[-1]))

    def masked(q, k, keep, divisor=None, dim=-1):
        return scores(q, k, divisor).masked_fill(~keep[:, None], -INFINITY).softmax(dim=dim)

    same_function(
        answer,
        lambda q, k, keep: masked(q, k, keep),
        draws,
        axes="(B, h, T, S)",
        mistakes=[
            Mistake(
                "mask-ignored",
                "The mask has no effect: keys that may not be read have weights.",
                lambda q, k, keep: scores(q, k).softmax(dim=-1),
            ),
            Mistake(
                "masked-after-softmax",
                "The softmax has already shared the weight out among all keys when the mask comes, so what the masked "
                "keys had is lost and the rows sum to less than 1.",
                lambda q, k, keep: scores(q, k).softmax(dim=-1) * keep[:, None],
            ),
            Mistake(
                "score-zero",
                "The masked keys have a score of 0 or close to it, and a softmax gives such a score a weight.",
                lambda q, k, keep: (scores(q, k) * keep[:, None]).softmax(dim=-1),
            ),
            Mistake(
                "mask-added",
                "The mask is added as 0 and 1, which moves the scores a little and shuts out nothing.",
                lambda q, k, keep: (scores(q, k) + keep[:, None]).softmax(dim=-1),
            ),
            Mistake(
                "mask-inverted",
                "The mask is read the wrong way round: the weights are on the keys that may not be read.",
                lambda q, k, keep: masked(q, k, ~keep),
            ),
            Mistake(
                "wrong-sign",
                "The scores of the masked keys are huge, so these keys take all the weight.",
                lambda q, k, keep: scores(q, k).masked_fill(~keep[:, None], 1e9).softmax(dim=-1),
            ),
            Mistake(
                "nan-from-infinity",
                "Everything is NaN: infinity was multiplied by 0, or subtracted from infinity.",
                lambda q, k, keep: scores(q, k) * torch.nan,
            ),
            *one_mistake(
                "mask-misaligned",
                "The mask has no axis of heads, so its axis of images meets the heads of the scores.",
                lambda q, k, keep: scores(q, k).masked_fill(~keep, -INFINITY),
                lambda q, k, keep: scores(q, k) * keep,
                lambda q, k, keep: torch.where(keep, scores(q, k), -INFINITY),
            ),
            Mistake(
                "softmax-over-queries",
                "The softmax runs over the queries: the numbers that one key gets sum to 1, "
                "where the numbers that one query gives should.",
                lambda q, k, keep: masked(q, k, keep, dim=-2),
            ),
            Mistake(
                "softmax-over-heads",
                "The softmax runs over the heads, so heads compete for a token.",
                lambda q, k, keep: masked(q, k, keep, dim=1),
            ),
            Mistake(
                "no-scale",
                "The scores go into the softmax as they are, so their spread grows with the width of the head.",
                lambda q, k, keep: masked(q, k, keep, 1),
            ),
            Mistake(
                "scale-by-d",
                "The scores are divided by the width itself, and the weights come out too even.",
                lambda q, k, keep: masked(q, k, keep, q.shape[-1]),
            ),
            Mistake(
                "sqrt-of-hidden-width",
                "The scores are divided by the root of the width of all heads together, not of one head.",
                lambda q, k, keep: masked(q, k, keep, math.sqrt(q.shape[1] * q.shape[-1])),
            ),
            *one_mistake(
                "scale-by-tokens",
                "The scores are divided by the root of a number of tokens, not of the width of the vectors.",
                lambda q, k, keep: masked(q, k, keep, math.sqrt(k.shape[-2])),
                lambda q, k, keep: masked(q, k, keep, math.sqrt(q.shape[-2])),
            ),
            Mistake(
                "multiplied-by-root",
                "The scores are multiplied by the root of the width where they should shrink.",
                lambda q, k, keep: masked(q, k, keep, 1 / math.sqrt(q.shape[-1])),
            ),
            Mistake(
                "scaled-after-softmax",
                "The division comes after the softmax: the rows no longer sum to 1.",
                lambda q, k, keep: masked(q, k, keep, 1) / math.sqrt(q.shape[-1]),
            ),
            *one_mistake(
                "no-softmax",
                "These are scores: some are negative, and the rows do not sum to 1.",
                lambda q, k, keep: scores(q, k).masked_fill(~keep[:, None], -INFINITY),
                lambda q, k, keep: scores(q, k) * keep[:, None],
            ),
        ],
    )


def _mask(draw, batch: int, queries: int, keys: int) -> torch.Tensor:
    """(B, T, S), random, with at least one True and one False in each row and in each column."""
    keep = draw.uniform(batch, queries, keys) < 0.5
    shorter = min(queries, keys)
    step = (torch.arange(keys) - torch.arange(queries)[:, None]) % shorter  # (T, S)
    return (keep | (step == 0)) & (step != 1)
