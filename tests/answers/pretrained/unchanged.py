"""Answers to exercise pretrained.unchanged."""

import numpy as np
import torch

from answers import UNKNOWN, Answers

answers = Answers("pretrained.unchanged")

answers.edits(
    (UNKNOWN, '"hidden": True', '"hidden": False'),
    ("softmax-misread", '"key_bias": True', '"key_bias": False'),
    ("gelu-misread", '"gelu": False', '"gelu": True'),
    ("scale-misread", '"norm": True', '"norm": False'),
    ("wrong-type", '"gelu": False', '"gelu": "no"'),
    ("wrong-type", '"gelu": False', '"gelu": ...'),
    ("wrong-keys", '"gelu": False', '"relu": False'),
)

NAMES = ["key_bias", "scaled", "heads", "hidden", "gelu", "norm"]


@answers.right
def by_name():
    return {name: name not in ("heads", "gelu") for name in NAMES}


@answers.right
def tensors():
    return dict(zip(NAMES, torch.tensor([True, True, False, True, False, True]), strict=True))


@answers.right
def of_numpy():
    return dict(zip(NAMES, np.array([1, 1, 0, 1, 0, 1]) == 1, strict=True))


@answers.wrong("softmax-misread")
def nothing_stays():
    return dict.fromkeys(NAMES, False)
