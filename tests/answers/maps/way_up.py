"""Answers to exercise maps.way_up."""

import numpy as np
import torch

from answers import right, unforeseen, wrong

PLAIN, SHUFFLED = [0.58, 0.52, 0.61], [0.38, 0.35, 0.4]


@right("maps.way_up")
def as_lists():
    return {"plain": PLAIN, "shuffled": SHUFFLED, "conclusion": "both"}


@right("maps.way_up")
def as_tensors_of_five():
    plain, shuffled = torch.tensor([*PLAIN, 0.5, 0.55]), np.array([*SHUFFLED, 0.3, 0.36])
    return dict(plain=plain, shuffled=shuffled, conclusion="Both ")


@right("maps.way_up")
def as_tuples():
    return {"conclusion": "both", "shuffled": tuple(SHUFFLED), "plain": tuple(torch.tensor(x) for x in PLAIN)}


def _way_up(slug, **changes):
    wrong("maps.way_up", slug)(lambda: as_lists() | changes)


_way_up("conclusion-does-not-follow", conclusion="place")
_way_up("conclusion-does-not-follow", conclusion="content")
_way_up("too-few", plain=[0.58, 0.52], shuffled=[0.38, 0.35])
_way_up("not-in-pairs", plain=[*PLAIN, 0.5])
_way_up("not-shuffled", shuffled=PLAIN)
_way_up("not-the-patch-above", plain=[0.004, 0.006, 0.005], shuffled=[0.004, 0.004, 0.003])
_way_up("exchanged", plain=SHUFFLED, shuffled=PLAIN)
_way_up("queries-moved", shuffled=[0.004, 0.006, 0.005])
_way_up("no-share", plain=[58, 52, 61])
_way_up("one-repeated", plain=[0.58] * 3)
_way_up("no-such-option", conclusion="position")
_way_up("wrong-keys", seeds=3)
unforeseen("maps.way_up")(lambda: as_lists() | {"plain": [0.99, 0.98, 0.97]})
