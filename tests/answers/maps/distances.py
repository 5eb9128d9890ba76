"""Answers to exercise maps.distances."""

from fractions import Fraction

import numpy as np
import torch

from answers import right, unforeseen, wrong

RIGHT_DISTANCES = {
    "itself": 0.0,
    "even": 80 / 9,
    "middle": 20 / 3,
    "next": 20 / 3,
    "middle_same_row": 20 / 3,
    "next_same_row": 80 / 9,
    "from_distance": "no",
    "with_control": "yes",
}


@right("maps.distances")
def as_fractions():
    return RIGHT_DISTANCES


@right("maps.distances")
def to_two_decimals():
    words = {"from_distance": "No", "with_control": "YES "}
    return {"itself": 0, "even": 8.89, "middle": 6.67, "next": 6.67, "middle_same_row": 6.67, "next_same_row": 8.89} | (
        words
    )


@right("maps.distances")
def computed():
    places = torch.tensor([[0.0], [10], [20]])
    apart = torch.cdist(places, places)  # (N, N)
    heads = {
        "itself": torch.eye(3),
        "even": torch.full((3, 3), 1 / 3),
        "middle": torch.tensor([[0.0, 1, 0]] * 3),
        "next": torch.tensor([[0.0, 1, 0], [0, 0, 1], [0, 0, 1]]),
    }
    heads |= {f"{name}_same_row": heads[name].mean(dim=0).expand(3, 3) for name in ("middle", "next")}
    found = {name: (head * apart).sum(dim=1).mean() for name, head in heads.items()}
    return found | {"from_distance": "no", "with_control": "yes"}


def _distances(slug, **changes):
    wrong("maps.distances", slug)(lambda: RIGHT_DISTANCES | changes)


_distances("in-patches", even=0.89)
_distances("own-place-left-out", even=13.333)
_distances("one-query-only", even=10)
_distances("middle-asks-too", middle=10.0)
_distances("next-without-the-last", next=10)
_distances("control-taken-for-even", middle_same_row=8.89)
_distances("control-left-as-it-was", next_same_row=6.667)
_distances("distance-taken-for-nearness", from_distance="yes")
_distances("control-not-used", with_control="no")
_distances("wrong-type", itself="none")
_distances("wrong-keys", far=1.0)
_distances("not-at-itself", itself=10)
_distances("in-patches", middle=0.67)
_distances("queries-added", next=20)
_distances("taken-for-even", next=8.89)
_distances("rounded", even=9)
_distances("rounded", next_same_row=8.9)
_distances("one-query-left-out", middle=5)
_distances("last-looks-back", next=13.33)
_distances("all-distances-added", even=80)
_distances("cut-off", middle_same_row=6.66)
_distances("cut-off", next=6.66)
_distances("squares-averaged", even=11.55)
_distances("squares-averaged", next=8.16)
_distances("mean-of-two-rows", next_same_row=8.33)
right("maps.distances")(lambda: RIGHT_DISTANCES | {"even": Fraction(80, 9), "next": np.array(20 / 3)})
unforeseen("maps.distances")(lambda: RIGHT_DISTANCES | {"itself": 5.0})
