"""Answers to exercise encoder.predict."""

import torch
from torch import nn

from answers import UNKNOWN, Answers

answers = Answers("encoder.predict")

answers.edits(
    (UNKNOWN, '"tokens_moved": 1', '"tokens_moved": -1'),
    ("norm-gives-ones", '"equal_numbers": "zeros"', '"equal_numbers": "ones"'),
    ("norm-lets-mean-through", '"equal_numbers": "zeros"', '"equal_numbers": "sevens"'),
    ("epsilon-forgotten", '"equal_numbers": "zeros"', '"equal_numbers": "NaN"'),
    ("stream-forgotten", '"plus 5"', '"same"'),
    ("branch-sees-the-mean", '"plus 5"', '"other"'),
    ("branch-input-forgotten", '"post_norm_plus_5": "other"', '"post_norm_plus_5": "same"'),
    ("norm-lets-mean-through", '"post_norm_plus_5": "other"', '"post_norm_plus_5": "plus 5"'),
    ("stream-forgotten", '"pre_norm_times_10": "other"', '"pre_norm_times_10": "same"'),
    ("branch-sees-the-length", '"pre_norm_times_10": "other"', '"pre_norm_times_10": "times 10"'),
    ("residual-still-there", 'residuals": "zeros"', 'residuals": "same"'),
    ("silent-branch-speaks", 'residuals": "zeros"', 'residuals": "other"'),
    ("tokens-meet", '"tokens_moved": 1', '"tokens_moved": 7'),
    ("nothing-moves", '"tokens_moved": 1', '"tokens_moved": 0'),
    ("one-for-each-block", '"tokens_moved": 1', '"tokens_moved": 2'),
    ("some-tokens-meet", '"tokens_moved": 1', '"tokens_moved": 4'),
    ("float-count", '"tokens_moved": 1', '"tokens_moved": 1.0'),
    ("no-such-option", '"equal_numbers": "zeros"', '"equal_numbers": "a seven"'),
)


@answers.right
def as_a_fraction():
    return {
        "equal_numbers": "zeros",
        "pre_norm_plus_5": "plus 5",
        "post_norm_plus_5": "other",
        "pre_norm_times_10": "other",
        "silent_without_residuals": "zeros",
        "tokens_moved": 1,
        "survivor": 5 / 2,
    }


@answers.right
def spelt_otherwise():
    return {
        "equal_numbers": " Zeros ",
        "pre_norm_plus_5": "plus_5",
        "post_norm_plus_5": "Other",
        "pre_norm_times_10": "Other",
        "silent_without_residuals": "Zeros.",
        "tokens_moved": 1,
        "survivor": 2.5,
    }


@answers.right
def measured():
    return {
        "equal_numbers": "zeros",
        "pre_norm_plus_5": "plus 5",
        "post_norm_plus_5": "other",
        "pre_norm_times_10": "other",
        "silent_without_residuals": "zeros",
        "tokens_moved": torch.tensor(1),
        "survivor": nn.Dropout(0.6)(torch.ones(100)).max(),
    }
