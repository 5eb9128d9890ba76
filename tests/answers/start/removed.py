"""Answers to exercise start.removed."""

import numpy as np
import torch

from answers import UNKNOWN, Answers

answers = Answers("start.removed")

answers.edits(
    ("not-trained", "0.94", "0.7"),
    ("conclusion-against-numbers", '"most_needed": "attention"', '"most_needed": "mlp"'),
    (UNKNOWN, "0.01", "-0.1"),
)

MEASURED = {
    "whole": 0.94,
    "without_positions": 0.76,
    "without_attention": 0.007,
    "without_mlp": 0.87,
    "most_needed": "attention",
    "because": "b",
}


@answers.right
def measured():
    return MEASURED


@answers.right
def measured_by_torch_and_numpy():
    return MEASURED | {"whole": np.float32(0.94), "without_attention": torch.tensor(0.007)}


@answers.right
def on_another_machine():
    return MEASURED | {"whole": 0.91, "without_positions": 0.71, "without_mlp": 0.88, "because": "B"}


@answers.wrong("percent")
def percentages():
    return MEASURED | {"whole": 94.0, "without_positions": 76.0, "without_attention": 0.7, "without_mlp": 87.0}


@answers.wrong("losses-for-shares")
def losses():
    return MEASURED | {"whole": 0.21, "without_positions": 1.32, "without_attention": 2.48, "without_mlp": 0.71}
