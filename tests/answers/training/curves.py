"""Answers to exercise training.curves."""

import torch

from answers import UNKNOWN, Answers

answers = Answers("training.curves")

answers.edits(
    (UNKNOWN, "20", "70"),
    ("right-answers-overlooked", '"softmax twice"', '"under-fitting"'),
    ("floor-overlooked", '"softmax twice"', '"healthy"'),
    ("never-left-upwards", '"softmax twice"', '"divergence"'),
    ("first-epochs-overlooked", '"divergence"', '"under-fitting"'),
    ("harder-images-overlooked", '"healthy"', '"under-fitting"'),
    ("turn-overlooked", '"over-fitting"', '"healthy"'),
    ("no-such-option", '"under-fitting"', '"too few images"'),
    ("wrong-type", '"under-fitting"', "3"),
    ("place-for-epoch", "20", "2"),
    ("float-count", "20", "20.0"),
)

RUNS = {
    "run_a": "softmax twice",
    "run_b": "divergence",
    "run_c": "healthy",
    "run_d": "over-fitting",
    "run_e": "under-fitting",
}


@answers.right
def written_otherwise():
    return {
        "run_a": " Softmax_twice ",
        "run_b": "divergence",
        "run_c": "healthy",
        "run_d": "overfitting",
        "run_e": "Under fitting.",
        "keep_d": 20,
    }


@answers.right
def in_another_order():
    return {"keep_d": 20} | RUNS


@answers.right
def epoch_as_tensor():
    return RUNS | {"keep_d": torch.tensor(20)}
