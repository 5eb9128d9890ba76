"""Answers to exercise encoder.predict."""

import torch
import torch.nn.functional as F
from torch import nn

from answers import right, unforeseen, wrong

PREDICTIONS = {
    "equal_numbers": "zeros",
    "pre_norm_plus_5": "plus 5",
    "post_norm_plus_5": "other",
    "pre_norm_times_10": "other",
    "silent_without_residuals": "zeros",
    "tokens_moved": 1,
    "survivor": 2.5,
}


@right("encoder.predict")
def from_thought():
    return PREDICTIONS


@right("encoder.predict")
def with_capitals():
    words = {name: f" {value.title()} " if isinstance(value, str) else value for name, value in PREDICTIONS.items()}
    return words | {"survivor": 1 / (1 - 0.6)}


@right("encoder.predict")
def partly_measured():
    equal = F.layer_norm(torch.full((8,), 7.0), (8,))
    survivor = nn.Dropout(0.6)(torch.ones(100)).max()
    return PREDICTIONS | {
        "equal_numbers": "zeros" if not equal.any() else "other",
        "survivor": survivor,
        "tokens_moved": torch.tensor(1),
    }


def _predict(exercise_mistake, **changes):
    wrong("encoder.predict", exercise_mistake)(lambda: PREDICTIONS | changes)


_predict("norm-gives-ones", equal_numbers="ones")
_predict("norm-lets-mean-through", equal_numbers="sevens")
_predict("epsilon-forgotten", equal_numbers="NaN")
_predict("stream-forgotten", pre_norm_plus_5="same")
_predict("branch-sees-the-mean", pre_norm_plus_5="other")
_predict("branch-input-forgotten", post_norm_plus_5="same")
_predict("norm-lets-mean-through", post_norm_plus_5="plus 5")
_predict("stream-forgotten", pre_norm_times_10="same")
_predict("branch-sees-the-length", pre_norm_times_10="times 10")
_predict("residual-still-there", silent_without_residuals="same")
_predict("silent-branch-speaks", silent_without_residuals="other")
_predict("tokens-meet", tokens_moved=7)
_predict("nothing-moves", tokens_moved=0)
_predict("one-for-each-block", tokens_moved=2)
_predict("changed-token-left-out", tokens_moved=6)
_predict("float-count", tokens_moved=1.0)
_predict("survivors-unchanged", survivor=1)
_predict("survivors-multiplied", survivor=0.4)
_predict("divided-by-p", survivor=1.667)
_predict("all-dropped", survivor=0.0)
_predict("some-tokens-meet", tokens_moved=4)
_predict("more-than-there-are", tokens_moved=12)
_predict("half-dropped", survivor=2)
_predict("divided-by-a-root", survivor=1.5811)
_predict("no-such-option", equal_numbers="a seven")
wrong("encoder.predict", "wrong-keys")(lambda: {"equal_numbers": "zeros"})
unforeseen("encoder.predict")(lambda: PREDICTIONS | {"survivor": 3.1})
unforeseen("encoder.predict")(lambda: PREDICTIONS | {"tokens_moved": -1})
