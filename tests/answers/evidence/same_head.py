"""Answers to exercise evidence.same_head: what the worked solution measures, and what it measures with a slip."""

import numpy as np
import torch

from answers import reported, right, unforeseen, wrong

MEASURED = {
    "photographs": ["coffee", "galaxies", "rocket"],
    "mean": [68, 51, 68],
    "zero": [51, 51, 69],
    "conclusion": "both",
}
AGREE = {"photographs": ["clock", "dahlia", "galaxies"], "mean": [68, 68, 51], "zero": [68, 68, 51]}

right("evidence.same_head")(lambda: MEASURED)
right("evidence.same_head")(lambda: AGREE | {"conclusion": "The photograph"})
right("evidence.same_head")(lambda: MEASURED | {"mean": torch.tensor([68, 51, 68]), "zero": np.array([51.0, 51, 69])})
reported("evidence.same_head", MEASURED, "mean", "zero", percent=False)

for slug, changes in (
    ("photograph-overlooked", dict(conclusion="neither")),
    ("photograph-overlooked", dict(conclusion="the replacement")),
    ("replacement-overlooked", dict(conclusion="the photograph")),
    ("more-than-the-numbers-say", AGREE | dict(conclusion="both")),
    ("more-than-the-numbers-say", AGREE | dict(mean=[68] * 3, zero=[68] * 3, conclusion="the photograph")),
    ("not-possible", dict(mean=[68, 51, 72])),
    ("not-possible", dict(mean=[68, 51, 6.8])),
    ("no-such-option", dict(photographs=["coffee", "galaxies", "tea"])),
    ("no-such-option", dict(conclusion=22)),
    ("one-run-repeated", dict(photographs=["coffee", "rocket", "rocket"])),
    ("runs-differ", dict(mean=[68, 51, 68, 68])),
    ("wrong-type", dict(mean=[(11, 2), (8, 3), (11, 2)])),
    # Each slip measured on photographs that tell it from the others in the run that the check makes again.
    ("exchanged", dict(photographs=["coffee", "cat", "rocket"], mean=[51, 68, 69], zero=[68, 22, 68])),
    ("smallest-effect", dict(mean=[5, 5, 3], zero=[5, 0, 5])),
    ("second-head", dict(photographs=["clock", "dahlia", "rocket"], mean=[57, 57, 51], zero=[57, 57, 51],
                         conclusion="the photograph")),
    ("counted-from-one", dict(photographs=["clock", "coffee", "galaxies"], mean=[69, 69, 52], zero=[69, 52, 52])),
    ("place-in-its-layer", dict(mean=[2, 3, 2], zero=[3, 3, 3])),
    ("place-in-its-layer", dict(mean=[11, 8, 11], zero=[8, 8, 11])),
    ("head-by-head", dict(mean=[35, 44, 35], zero=[44, 44, 47])),
    ("last-layer-only", dict(mean=[68, 68, 68], zero=[67, 69, 69])),
    ("the-cat-again", dict(photographs=["coffee", "astronaut", "rocket"], mean=[22] * 3, zero=[68] * 3,
                           conclusion="the replacement")),
):  # fmt: skip
    wrong("evidence.same_head", slug)(lambda changes=changes: MEASURED | changes)
unforeseen("evidence.same_head")(lambda: MEASURED | {"zero": [51, 33, 69]})
