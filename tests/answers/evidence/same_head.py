"""Answers to exercise evidence.same_head: what the worked solution measures, and what it measures with a mistake."""

import numpy as np
import torch

from answers import UNKNOWN, Answers

answers = Answers("evidence.same_head")

MEASURED = {
    "photographs": ["coffee", "galaxies", "rocket"],
    "token mean": [68, 51, 68],
    "zero": [51, 51, 69],
    "conclusion": "both",
}
AGREE = {"photographs": ["clock", "dahlia", "galaxies"], "token mean": [68, 68, 51], "zero": [68, 68, 51]}

answers.reported(MEASURED, "token mean", "zero", percent=False)


@answers.right
def both_lists_agree():
    return AGREE | {"conclusion": "The photograph"}


@answers.right
def tensor_and_array_of_floats():
    return MEASURED | {"token mean": torch.tensor([68, 51, 68]), "zero": np.array([51.0, 51, 69])}


@answers.wrong("photograph-overlooked")
def neither():
    return MEASURED | {"conclusion": "neither"}


@answers.wrong("replacement-overlooked")
def the_photograph_alone():
    return MEASURED | {"conclusion": "the photograph"}


@answers.wrong("more-than-the-numbers-say")
def both_without_a_difference():
    return AGREE | {"conclusion": "both"}


@answers.wrong("not-possible")
def no_such_head():
    return MEASURED | {"token mean": [68, 51, 72]}


@answers.wrong("no-such-option")
def no_such_photograph():
    return MEASURED | {"photographs": ["coffee", "galaxies", "tea"]}


@answers.wrong("wrong-type")
def layer_and_head():
    return MEASURED | {"token mean": [(11, 2), (8, 3), (11, 2)]}


@answers.wrong("exchanged")
def exchanged():
    names = ["coffee", "cat", "rocket"]  # on the galaxies, both replacements give the same head
    return {"photographs": names, "token mean": [51, 68, 69], "zero": [68, 22, 68], "conclusion": "both"}


@answers.wrong(UNKNOWN)
def counted_from_one():
    return MEASURED | {"token mean": [69, 52, 69], "zero": [52, 52, 70]}
