"""Answers to exercise vit.predicted."""

import math

import torch
import torch.nn.functional as F

from answers import UNKNOWN, Answers

answers = Answers("vit.predicted")

answers.edits(
    (UNKNOWN, "+ 1", "- 1"),
    ("sign-lost", "math.log(20)", "-math.log(20)"),
    ("other-logarithm", "math.log(20)", "math.log2(20)"),
    ("sure-and-right", '"larger"', '"smaller"'),
    ("weights-for-each-token", '"a little more"', '"four times"'),
    ("shared-weights-are-free", '"more than four times"', '"the same"'),
    ("no-such-option", '"a little more"', '"much more"'),
)


@answers.right
def numbers():
    return {
        "features": [4, 25, 96],
        "first_loss": 2.996,
        "large_head": " Larger ",
        "parameters": "a little more",
        "multiply_adds": "more than four times",
    }


@answers.right
def by_a_loss():
    return {
        "features": torch.rand(4, 25, 96).shape,
        "first_loss": F.cross_entropy(torch.zeros(4, 20), torch.arange(4)),
        "large_head": "larger",
        "parameters": "a little more",
        "multiply_adds": "more than four times",
    }


@answers.right
def by_a_probability():
    patches = 48 * 32 // 8**2
    return {
        "features": (4, patches + 1, 96),
        "first_loss": -math.log(1 / 20),
        "large_head": "larger",
        "parameters": "a_little_more",
        "multiply_adds": "More than four times",
    }


@answers.wrong("float-count")
def half_patches():
    tokens = 48 / 8 * 32 / 8 + 1
    return {**numbers(), "features": (4, tokens, 96)}
