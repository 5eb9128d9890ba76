"""Answers to exercise start.removed."""

import numpy as np
import torch

from answers import right, unforeseen, wrong

MEASURED = {
    "whole": 0.85,
    "without_positions": 0.27,
    "without_attention": 0.007,
    "without_mlp": 0.75,
    "most_needed": "attention",
    "because": "b",
}


@right("start.removed")
def measured():
    return MEASURED


@right("start.removed")
def another_seed():
    return MEASURED | {"whole": 0.79, "without_positions": 0.22, "without_attention": 0.012, "because": "B"}


@right("start.removed")
def as_tensors():
    shares = {name: torch.tensor(share) for name, share in MEASURED.items() if not isinstance(share, str)}
    return MEASURED | shares | {"whole": np.float32(0.85)}


def _removed(exercise_mistake, **changes):
    wrong("start.removed", exercise_mistake)(lambda: MEASURED | changes)


_removed("not-trained", whole=0.2)
_removed("too-good", whole=1.0)
_removed("percent", whole=85, without_positions=27)
_removed("positions-still-there", without_positions=0.84)
_removed("more-than-positions-missing", without_positions=0.02)
_removed("attention-still-there", without_attention=0.4)
_removed("more-than-mlp-missing", without_mlp=0.007)
_removed("too-good", without_mlp=1.0)
_removed("mlp-still-there", without_mlp=0.86)
_removed("conclusion-against-numbers", most_needed="mlp")
_removed("conclusion-against-numbers", most_needed="positions")
_removed("size-taken-for-cause", because="a")
_removed("more-steps-hoped-for", because="c")
_removed("no-such-option", because="d")
_removed("wrong-type", whole="much")
_removed("returned-nothing", without_mlp=None)
wrong("start.removed", "wrong-keys")(lambda: {"whole": 0.85})
_removed("percent", whole=85.0, without_positions=27.0, without_attention=0.7, without_mlp=75.0)
_removed("count-for-share", whole=850, without_positions=270, without_attention=7, without_mlp=750)
_removed("errors-for-shares", whole=0.15, without_positions=0.73, without_attention=0.993, without_mlp=0.25)
_removed("loss-for-share", without_positions=0.58, without_attention=0.843, without_mlp=0.1)
_removed("parts-exchanged", without_positions=0.007, without_attention=0.27)
_removed("parts-exchanged", without_mlp=0.007, without_attention=0.75, most_needed="mlp")
_removed("parts-not-trained", without_positions=0.006, without_attention=0.007, without_mlp=0.008)
_removed("nothing-changed", without_positions=0.85, without_attention=0.85, without_mlp=0.85)
_removed("losses-for-shares", whole=0.21, without_positions=1.32, without_attention=2.48, without_mlp=0.71)
unforeseen("start.removed")(lambda: MEASURED | {"without_attention": -0.1})
unforeseen("start.removed")(lambda: MEASURED | {"without_positions": 2.7})
unforeseen("start.removed")(lambda: MEASURED | {"whole": float("nan")})
