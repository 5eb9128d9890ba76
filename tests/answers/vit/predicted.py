"""Answers to exercise vit.predicted."""

import math

import torch
import torch.nn.functional as F

from answers import right, unforeseen, wrong
from vit_course.config import ViTConfig
from vit_course.vit import ViT

RIGHT_PREDICTIONS = {
    "features": (4, 25, 96),
    "first_loss": 2.9957,
    "large_head": "larger",
    "parameters": "a little more",
    "multiply_adds": "more than four times",
}


@right("vit.predicted")
def as_written():
    return RIGHT_PREDICTIONS


@right("vit.predicted")
def as_formulas():
    return dict(RIGHT_PREDICTIONS, first_loss=math.log(20), features=[4, 6 * 4 + 1, 96], large_head=" Larger ")


@right("vit.predicted")
def as_tried():
    z = ViT(ViTConfig((48, 32), 8, 20, 96, 2, 4, 384)).features(torch.rand(4, 3, 48, 32))
    loss = F.cross_entropy(torch.zeros(4, 20), torch.arange(4))
    return RIGHT_PREDICTIONS | {"features": z.shape, "first_loss": loss}


for slug, change in (
    ("class-output-only", {"features": (4, 96)}),
    ("logits-not-features", {"features": (4, 20)}),
    ("logits-not-features", {"features": (4, 25, 20)}),
    ("class-token-forgotten", {"features": (4, 24, 96)}),
    ("batch-forgotten", {"features": (25, 96)}),
    ("tokens-and-width-swapped", {"features": (4, 96, 25)}),
    ("probability-not-loss", {"first_loss": 0.05}),
    ("sign-lost", {"first_loss": -math.log(20)}),
    ("other-logarithm", {"first_loss": math.log2(20)}),
    ("other-logarithm", {"first_loss": math.log10(20)}),
    ("width-for-classes", {"first_loss": math.log(96)}),
    ("batch-for-classes", {"first_loss": math.log(4)}),
    ("rounded-too-far", {"first_loss": 3.0}),
    ("no-loss", {"first_loss": 0}),
    ("share-of-errors", {"first_loss": 0.95}),
    ("guess-taken-for-undecided", {"large_head": "the same"}),
    ("ten-classes", {"first_loss": 2.303}),
    ("tokens-for-classes", {"first_loss": math.log(25)}),
    ("inner-width", {"features": (4, 25, 384)}),
    ("sure-and-right", {"large_head": "smaller"}),
    ("table-forgotten", {"parameters": "the same"}),
    ("weights-for-each-token", {"parameters": "four times"}),
    ("shared-weights-are-free", {"multiply_adds": "the same"}),
    ("sides-not-areas", {"multiply_adds": "twice"}),
    ("products-forgotten", {"multiply_adds": "at most four times"}),
    ("no-such-option", {"parameters": "much more"}),
):
    wrong("vit.predicted", slug)(lambda change=change: RIGHT_PREDICTIONS | change)
unforeseen("vit.predicted")(lambda: RIGHT_PREDICTIONS | {"first_loss": 3.5})
unforeseen("vit.predicted")(lambda: RIGHT_PREDICTIONS | {"features": (4, 23, 96)})
