"""Answers to exercise evidence.same_head: what the worked solution measures, and what it measures with a slip."""

import numpy as np
import torch

from answers import reported, right, unforeseen, wrong

MEASURED = {
    "photographs": ["coffee", "galaxies", "rocket"],
    "token mean": [68, 51, 68],
    "zero": [51, 51, 69],
    "conclusion": "both",
}
AGREE = {"photographs": ["clock", "dahlia", "galaxies"], "token mean": [68, 68, 51], "zero": [68, 68, 51]}

right("evidence.same_head")(lambda: MEASURED)
right("evidence.same_head")(lambda: AGREE | {"conclusion": "The photograph"})
right("evidence.same_head")(
    lambda: MEASURED | {"token mean": torch.tensor([68, 51, 68]), "zero": np.array([51.0, 51, 69])}
)
reported("evidence.same_head", MEASURED, "token mean", "zero", percent=False)

for slug, changes in (
    ("photograph-overlooked", {"conclusion": "neither"}),
    ("photograph-overlooked", {"conclusion": "the replacement"}),
    ("replacement-overlooked", {"conclusion": "the photograph"}),
    ("more-than-the-numbers-say", AGREE | {"conclusion": "both"}),
    ("more-than-the-numbers-say", AGREE | {"token mean": [68] * 3, "zero": [68] * 3, "conclusion": "the photograph"}),
    ("not-possible", {"token mean": [68, 51, 72]}),
    ("not-possible", {"token mean": [68, 51, 6.8]}),
    ("no-such-option", {"photographs": ["coffee", "galaxies", "tea"]}),
    ("no-such-option", {"conclusion": 22}),
    ("one-run-repeated", {"photographs": ["coffee", "rocket", "rocket"]}),
    ("runs-differ", {"token mean": [68, 51, 68, 68]}),
    ("wrong-type", {"token mean": [(11, 2), (8, 3), (11, 2)]}),
    # Each slip measured on photographs that tell it from the others in the run that the check makes again.
    ("exchanged", {"photographs": ["coffee", "cat", "rocket"], "token mean": [51, 68, 69], "zero": [68, 22, 68]}),
    ("smallest-effect", {"token mean": [5, 5, 3], "zero": [5, 0, 5]}),
    ("second-head", {"photographs": ["clock", "dahlia", "rocket"], "token mean": [57, 57, 51], "zero": [57, 57, 51],
                     "conclusion": "the photograph"}),
    ("counted-from-one", {"photographs": ["clock", "coffee", "galaxies"], "token mean": [69, 69, 52],
                          "zero": [69, 52, 52]}),
    ("place-in-its-layer", {"token mean": [2, 3, 2], "zero": [3, 3, 3]}),
    ("place-in-its-layer", {"token mean": [11, 8, 11], "zero": [8, 8, 11]}),
    ("head-by-head", {"token mean": [35, 44, 35], "zero": [44, 44, 47]}),
    ("last-layer-only", {"token mean": [68, 68, 68], "zero": [67, 69, 69]}),
    ("the-cat-again", {"photographs": ["coffee", "astronaut", "rocket"], "token mean": [22] * 3, "zero": [68] * 3,
                       "conclusion": "the replacement"}),
):  # fmt: skip
    wrong("evidence.same_head", slug)(lambda changes=changes: MEASURED | changes)
unforeseen("evidence.same_head")(lambda: MEASURED | {"zero": [33, 51, 69]})
