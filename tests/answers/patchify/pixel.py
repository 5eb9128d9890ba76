"""Answers to exercise patchify.pixel."""

import torch
import torch.nn.functional as F

from answers import UNKNOWN, Answers
from vit_course.patches import patchify

answers = Answers("patchify.pixel")

answers.edits(
    ("rows-for-columns", "top * 9 + left", "top * 6 + left"),
    ("one-direction-only", "3 * 3,", "3 * 1,"),
    ("counted-from-one", "2 * 64", "3 * 64"),
    (UNKNOWN, "3 * 3,", "3 + 3,"),
)


@answers.right
def by_marking():
    image = torch.zeros(1, 3, 48, 72)
    image[0, 2, 19, 37] = 1
    patch, place = patchify(image, 8)[0].nonzero()[0]
    return {
        "patch": patch,
        "place": place,
        "place_with_unfold": F.unfold(image, 8, stride=8)[0].nonzero()[0, 0],
        "tokens_changed": (F.conv2d(image, torch.ones(1, 3, 24, 24), stride=8, padding=8) != 0).sum(),
        "times_the_pairs": 54**2 // 6**2,
        "times_the_products": 54 * 192 // (6 * 1728),
    }


@answers.right
def ratios_as_floats():
    row, column = 19 % 8, 37 % 8
    many, few = 6 * 9, 2 * 3
    return {
        "patch": 19 // 8 * 9 + 37 // 8,
        "place": row * 8 * 3 + column * 3 + 2,
        "place_with_unfold": (2 * 8 + row) * 8 + column,
        "tokens_changed": 9,
        "times_the_pairs": many**2 / few**2,
        "times_the_products": many * 8 * 8 * 3 / (few * 24 * 24 * 3),
    }


@answers.right
def numbers_alone():
    return {
        "patch": 22,
        "place": 89,
        "place_with_unfold": 157,
        "tokens_changed": 9,
        "times_the_pairs": (24 // 8) ** 4,
        "times_the_products": 1,
    }
