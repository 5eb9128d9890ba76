"""Answers to exercise training.seeds."""

import torch

from answers import right, unforeseen, wrong

MEASURED = {
    "change": "padding",
    "without": [0.935, 0.94, 0.93, 0.945],
    "with": [0.86, 0.84, 0.875, 0.85],
    "conclusion": "hurts",
}


@right("training.seeds")
def shifts_hurt():
    return MEASURED


@right("training.seeds")
def smoothing_cannot_tell():
    return {
        "change": " Label-smoothing ",
        "without": (0.935, 0.94, 0.93, 0.945, 0.935),
        "with": (0.94, 0.94, 0.935, 0.93, 0.95),
        "conclusion": "Cannot tell",
    }


@right("training.seeds")
def of_tensors():
    numbers = {name: torch.tensor(MEASURED[name], dtype=torch.float64) for name in ("without", "with")}
    return {"change": "warmup", "without": numbers["with"], "with": numbers["without"], "conclusion": "helps"}


def _seeds(mistake, **changes):
    wrong("training.seeds", mistake)(lambda: MEASURED | changes)


_seeds("no-such-option", change="normalisation")
_seeds("no-such-option", conclusion="probably")
_seeds("no-such-option", conclusion=0.09)
_seeds("wrong-keys", seeds=4)
_seeds("wrong-type", without=0.935)
_seeds("wrong-type", without=["high"] * 4)
_seeds("too-few-seeds", without=[0.935, 0.94], **{"with": [0.86, 0.84]})
_seeds("percent", without=[93.5, 94.0, 93.0, 94.5])
_seeds("not-of-the-validation-images", without=[0.935, 0.94, 0.9327, 0.945])
_seeds("not-trained", **{"with": [0.1, 0.12, 0.11, 0.09]})
_seeds("not-the-same-seeds", without=[0.935, 0.94, 0.93, 0.945, 0.94])
_seeds("one-seed-repeated", without=[0.935] * 4, **{"with": [0.86] * 4})
_seeds("nothing-changed", without=[0.935, 0.94, 0.93, 0.945], **{"with": [0.935, 0.94, 0.93, 0.945]})
_seeds("wrong-direction", conclusion="helps")
_seeds("separation-overlooked", conclusion="cannot tell")
_seeds("overlap-overlooked", **{"with": [0.86, 0.84, 0.935, 0.85]})


@wrong("training.seeds", "returned-nothing")
def nothing():
    return None


@wrong("training.seeds", "wrong-type")
def a_sentence():
    return "hurts"


unforeseen("training.seeds")(lambda: MEASURED | {"without": [0.935, float("nan"), 0.93, 0.945]})
unforeseen("training.seeds")(lambda: MEASURED | {"with": [-0.5, 0.84, 0.875, 0.85]})
