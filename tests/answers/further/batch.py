"""Answers to exercise further.batch."""

import torch

from answers import right, unforeseen, wrong

MEASURED = {
    "small": [0.93, 0.945, 0.92],
    "large": [0.64, 0.6, 0.71],
    "scaled": [0.9, 0.925, 0.895],
    "conclusion": "repairs",
}


@right("further.batch")
def repaired():
    return MEASURED


@right("further.batch")
def in_part():
    return MEASURED | {"scaled": (0.8, 0.85, 0.79), "conclusion": " Helps "}


@right("further.batch")
def nothing_clear():
    large = torch.tensor([0.64, 0.905, 0.71], dtype=torch.float64)
    return MEASURED | {"large": large, "conclusion": "cannot-tell"}


def _batch(mistake, **changes):
    wrong("further.batch", mistake)(lambda: MEASURED | changes)


_batch("no-such-option", conclusion="better")
_batch("wrong-keys", rate=8e-3)
_batch("wrong-type", small=0.93)
_batch("too-few-seeds", small=[0.93], large=[0.64], scaled=[0.9])
_batch("percent", large=[64.0, 60.0, 71.0])
_batch("not-of-the-validation-images", scaled=[0.9, 0.9312, 0.895])
_batch("not-trained", large=[0.1, 0.09, 0.12])
_batch("not-the-same-seeds", small=[0.93, 0.945, 0.92, 0.93])
_batch("one-seed-repeated", small=[0.93] * 3, large=[0.6] * 3, scaled=[0.9] * 3)
_batch("nothing-changed", scaled=[0.64, 0.6, 0.71])
_batch("overlap-overlooked", large=[0.64, 0.905, 0.71])
_batch("gain-overlooked", conclusion="cannot tell")
_batch("gap-overlooked", scaled=[0.8, 0.85, 0.79])
_batch("overlap-with-small-overlooked", conclusion="helps")


@wrong("further.batch", "returned-nothing")
def nothing():
    return None


unforeseen("further.batch")(lambda: MEASURED | {"small": [0.93, float("nan"), 0.92]})
unforeseen("further.batch")(lambda: MEASURED | {"large": [-0.5, 0.6, 0.71]})
