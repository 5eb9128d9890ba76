"""Answers to exercise maps.distances."""

from fractions import Fraction

import numpy as np
import torch

from answers import UNKNOWN, Answers

answers = Answers("maps.distances")

answers.edits(
    ("not-at-itself", "0.0", "10"),
    ("wrong-type", "0.0", '"none"'),
    ("in-patches", '"even": 80 / 9', '"even": 8 / 9'),
    ("own-place-left-out", '"even": 80 / 9', '"even": 80 / 6'),
    ("middle-asks-too", '"middle": 20 / 3', '"middle": 30 / 3'),
    ("control-not-used", '"yes",', '"no",'),
    (UNKNOWN, "0.0", "5.0"),
)


@answers.right
def computed():
    places = torch.tensor([[0.0], [10], [20]])
    apart = torch.cdist(places, places)
    heads = {
        "itself": torch.eye(3),
        "even": torch.full((3, 3), 1 / 3),
        "middle": torch.tensor([[0.0, 1, 0]] * 3),
        "next": torch.tensor([[0.0, 1, 0], [0, 0, 1], [0, 0, 1]]),
    }
    heads |= {f"{name}_same_row": heads[name].mean(dim=0).expand(3, 3) for name in ("middle", "next")}
    found = {name: (head * apart).sum(dim=1).mean() for name, head in heads.items()}
    return found | {"from_distance": "no", "with_control": "yes"}


@answers.right
def two_decimals():
    return {
        "itself": 0,
        "even": 8.89,
        "middle": 6.67,
        "next": 6.67,
        "middle_same_row": 6.67,
        "next_same_row": 8.89,
        "from_distance": "No",
        "with_control": "YES ",
    }


@answers.right
def fractions_and_arrays():
    return {
        "itself": 0.0,
        "even": Fraction(80, 9),
        "middle": np.array(20 / 3),
        "next": np.array(20 / 3),
        "middle_same_row": np.array(20 / 3),
        "next_same_row": Fraction(80, 9),
        "from_distance": "no",
        "with_control": "yes",
    }
