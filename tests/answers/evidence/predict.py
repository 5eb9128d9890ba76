"""Answers to exercise evidence.predict."""

import numpy as np
import torch

from answers import UNKNOWN, Answers

answers = Answers("evidence.predict")

answers.edits(
    ("maps-follow-the-head", '"head": 0', '"head": 5'),
    ("last-map-follows-the-head", '"head": 0', '"head": 1'),
    ("map-after-its-own-mlp", '"mlp_2": 2', '"mlp_2": 3'),
    ("read-from-all-tokens", "False", "True"),
    ("float-count", '"mlp_2": 2', '"mlp_2": 2.0'),
    ("wrong-type", "False", '"no"'),
    (UNKNOWN, '"mlp_2": 2', '"mlp_2": 0'),
)


@answers.right
def arrays():
    return {
        "head": np.array(0),
        "mlp_2": np.array(2),
        "values_4": np.array(0),
        "values_4_logits": np.array(True),
        "patch_rows_4_logits": np.array(False),
        "patch_rows_3_logits": np.array(True),
    }


@answers.right
def tensors():
    return {
        "head": torch.tensor(0),
        "mlp_2": torch.tensor(2),
        "values_4": torch.tensor(0),
        "values_4_logits": torch.tensor(True),
        "patch_rows_4_logits": torch.tensor(False),
        "patch_rows_3_logits": torch.tensor(True),
    }


@answers.right
def counted():
    blocks = range(5)
    return {
        "head": 0,
        "mlp_2": len(blocks[3:]),
        "values_4": len(blocks[5:]),
        "values_4_logits": True,
        "patch_rows_4_logits": 4 in blocks[:-1],
        "patch_rows_3_logits": 3 in blocks[:-1],
    }
