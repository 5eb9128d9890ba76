"""Answers to exercise positions.patch_sizes."""

import torch

from answers import UNKNOWN, Answers

answers = Answers("positions.patch_sizes")
MEASURED: dict = {
    "seeds": [0, 1, 2],
    "none": {4: [0.958, 0.96, 0.948], 2: [0.655, 0.675, 0.662], 1: [0.217, 0.203, 0.233]},
    "learned": {4: [0.963, 0.963, 0.96], 2: [0.882, 0.86, 0.87], 1: [0.347, 0.407, 0.385]},
    "conclusion": {"4 to 2": "grows", "2 to 1": "open"},
}

answers.edits(
    ("more-than-the-numbers-say", '"open"', '"grows"'),
    ("more-than-the-numbers-say", '"open"', '"falls"'),
    ("too-careful", '"grows"', '"open"'),
    ("wrong-direction", '"grows"', '"falls"'),
    ("one-run-repeated", "[0, 1, 2]", "[0, 1, 1]"),
    ("not-possible", "0.217", "-0.217"),
    ("no-such-option", '"open"', '"better"'),
    ("no-such-option", '"grows"', "None"),
    ("wrong-keys", "1: [0.217", "'1': [0.217"),
)


@answers.right
def two_decimals():
    return {
        "seeds": [0, 1, 2],
        "none": {4: [0.96, 0.96, 0.95], 2: [0.66, 0.68, 0.66], 1: [0.22, 0.20, 0.23]},
        "learned": {4: [0.96, 0.96, 0.96], 2: [0.88, 0.86, 0.87], 1: [0.35, 0.41, 0.39]},
        "conclusion": {"4 to 2": " Grows", "2 to 1": "open"},
    }


@answers.right
def tensors_and_tuples():
    none = MEASURED["none"] | {2: torch.tensor([0.655, 0.675, 0.662]), 1: (0.217, 0.203, 0.233)}
    return MEASURED | {"none": none}


@answers.right
def other_order():
    return {
        "seeds": [2, 0, 1],
        "none": {4: [0.948, 0.958, 0.96], 2: [0.662, 0.655, 0.675], 1: [0.233, 0.217, 0.203]},
        "learned": {4: [0.96, 0.963, 0.963], 2: [0.87, 0.882, 0.86], 1: [0.385, 0.347, 0.407]},
        "conclusion": {"4 to 2": "grows", "2 to 1": "open"},
    }


@answers.wrong("wrong-keys")
def lists_in_place_of_sides():
    return MEASURED | {"none": [0.955, 0.664, 0.218], "learned": [0.962, 0.871, 0.38]}


@answers.wrong("wrong-keys")
def one_conclusion():
    return MEASURED | {"conclusion": "grows"}


@answers.wrong(UNKNOWN)
def other_runs():
    none = MEASURED["none"] | {1: [0.5, 0.5, 0.5]}
    learned = MEASURED["learned"] | {1: [0.8, 0.81, 0.82]}
    return MEASURED | {"none": none, "learned": learned, "conclusion": {"4 to 2": "grows", "2 to 1": "grows"}}
