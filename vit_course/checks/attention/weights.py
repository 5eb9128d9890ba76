"""Exercise attention.weights: attention weights from queries and keys."""

import math

from vit_course.attention import attention_weights
from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, same_function


@exercise("Weights from queries and keys", section="All queries at once", difficulty=1, minutes=8)
def weights(answer, draw):
    """`answer(q, k)`: (B, h, T, d), (B, h, S, d) -> (B, h, T, S), the attention weights."""
    draws = []
    for batch, heads, queries, keys, width in (draw.sizes(5), draw.sizes(5)):
        draws.append((draw.normal(batch, heads, queries, width), draw.normal(batch, heads, keys, width)))

    def scores(q, k, divisor):
        return q @ k.transpose(-2, -1) / divisor

    same_function(
        answer,
        attention_weights,
        draws,
        axes="(B, h, T, S)",
        mistakes=[
            Mistake(
                "softmax-over-queries",
                "The softmax runs over the queries: the numbers that one key gets sum to 1, "
                "where the numbers that one query gives should.",
                lambda q, k: scores(q, k, math.sqrt(q.shape[-1])).softmax(dim=-2),
            ),
            Mistake(
                "no-scale",
                "The scores go into the softmax as they are, so their spread grows with the width of the head.",
                lambda q, k: scores(q, k, 1).softmax(dim=-1),
            ),
            Mistake(
                "scale-by-d",
                "The scores are divided by the width itself, and the weights come out too even.",
                lambda q, k: scores(q, k, q.shape[-1]).softmax(dim=-1),
            ),
            Mistake(
                "scale-by-tokens",
                "The scores are divided by the root of a number of tokens, not of the width of the vectors.",
                lambda q, k: scores(q, k, math.sqrt(k.shape[-2])).softmax(dim=-1),
            ),
            Mistake(
                "multiplied-by-root",
                "The scores are multiplied by the root of the width where they should shrink.",
                lambda q, k: scores(q, k, 1 / math.sqrt(q.shape[-1])).softmax(dim=-1),
            ),
            Mistake(
                "no-softmax",
                "These are scores: they are negative in places and no row sums to 1.",
                lambda q, k: scores(q, k, math.sqrt(q.shape[-1])),
            ),
            Mistake(
                "softmax-over-heads",
                "The softmax runs over the heads, so heads compete for a token.",
                lambda q, k: scores(q, k, math.sqrt(q.shape[-1])).softmax(dim=1),
            ),
            Mistake(
                "scaled-after-softmax",
                "The division comes after the softmax: the rows no longer sum to 1.",
                lambda q, k: scores(q, k, 1).softmax(dim=-1) / math.sqrt(q.shape[-1]),
            ),
        ],
    )
