"""Mistakes in two steps of attention that several exercises have: the scale of the scores, and the softmax."""

from vit_course.checks.tools.mistakes import Mistake

HIDDEN_WIDTH = Mistake(
    "sqrt-of-hidden-width",
    "The scores are divided by the square root of the hidden width, not of the width of a head.",
    {"scale": lambda d, heads, tokens: (d * heads) ** 0.5},
)

SCALE = [
    HIDDEN_WIDTH,
    Mistake(
        "no-scale", "The scores go into the softmax without being divided.", {"scale": lambda d, heads, tokens: 1.0}
    ),
    Mistake(
        "scale-by-d",
        "The scores are divided by the width of a head itself, or by its square root twice.",
        {"scale": lambda d, heads, tokens: d},
    ),
    Mistake(
        "scale-by-tokens",
        "The scores are divided by the square root of a number of tokens, not of the width of a head.",
        {"scale": lambda d, heads, tokens: tokens**0.5},
    ),
    Mistake(
        "multiplied-by-root",
        "The scores are multiplied by the square root of the width of a head, not divided by it.",
        {"scale": lambda d, heads, tokens: d**-0.5},
    ),
]

SHARE = [
    Mistake(
        "softmax-over-queries",
        "The softmax runs over the queries: the weights of each key sum to 1; those of each query should.",
        {"share": lambda scores: scores.softmax(-2)},
    ),
    Mistake(
        "softmax-over-heads",
        "The softmax runs over the heads, so heads compete for a token, and a row no longer sums to 1.",
        {"share": lambda scores: scores.softmax(1)},
    ),
    Mistake("softmax-twice", "The softmax is applied twice.", {"share": lambda scores: scores.softmax(-1).softmax(-1)}),
]
