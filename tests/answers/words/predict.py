"""Answers to exercise words.predict."""

import math

import torch

from answers import UNKNOWN, Answers

answers = Answers("words.predict")

answers.edits(
    (UNKNOWN, "4_096", "100"),
    ("own-caption-left-out", "4.159", "4.143"),
    ("base-two", "4.159", "6.0"),
    ("directions-added", "4.159", "8.318"),
    ("cosines-from-zero", "0.1269", "0.3133"),
    ("no-floor", "0.1269", "0.0"),
    ("all-are-twins", "0.3466", "0.6931"),
    ("told-apart", "0.3466", "0.0"),
    ("own-pairs-alone", "4_096", "64"),
    ("without-bias", "10.003", "44.36"),
    ("signs-exchanged", "10.003", "630.0"),
    ("each-pair-once", "1_073_741_824", "536_870_912"),
    ("float-count", "4_096", "4096.0"),
    ("wrong-type", "4.159", '"four"'),
)


@answers.right
def more_digits():
    return {
        "start": 4.1589,
        "two": 0.12693,
        "twins": 0.34657,
        "pairs": 64 * 64,
        "sigmoid_start": 10.0029,
        "logits": 1073741824,
    }


@answers.right
def sigmoid_rounded():
    return {"start": 4.159, "two": 0.1269, "twins": 0.3466, "pairs": 4096, "sigmoid_start": 10.0, "logits": 2**30}


@answers.right
def computed():
    return {
        "start": torch.tensor(64.0).log(),
        "two": -math.log(math.e / (math.e + 1 / math.e)),
        "twins": 2 * math.log(2) / 4,
        "pairs": torch.tensor(4096),
        "sigmoid_start": math.log1p(math.exp(10)) + 63 * math.log1p(math.exp(-10)),
        "logits": 32_768**2,
    }
