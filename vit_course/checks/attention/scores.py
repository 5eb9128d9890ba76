"""What scores are divided by, rightly and wrongly, and over what a softmax may run: for weights and mended."""

import math
from collections.abc import Callable

import torch

# From the width of a head, the number of heads and the number of keys.
SCALES: dict[str, Callable[[int, int, int], float]] = {
    "right": lambda d, heads, tokens: math.sqrt(d),
    "none": lambda d, heads, tokens: 1.0,
    "width": lambda d, heads, tokens: d,
    "root of all heads": lambda d, heads, tokens: math.sqrt(d * heads),
    "all heads": lambda d, heads, tokens: d * heads,
    "root of tokens": lambda d, heads, tokens: math.sqrt(tokens),
    "root of heads": lambda d, heads, tokens: math.sqrt(heads),
    "upside down": lambda d, heads, tokens: 1 / math.sqrt(d),
}


def softmax_over(axis: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """A function from scores to weights: a softmax over this axis."""
    return lambda scores: scores.softmax(axis)


def softmax_over_keys(scores: torch.Tensor) -> torch.Tensor:
    """(..., T, S) -> (..., T, S), rows of weights that sum to 1."""
    return scores.softmax(-1)
