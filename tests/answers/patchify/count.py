"""Answers to exercise patchify.count."""

import torch

from answers import UNKNOWN, Answers
from vit_course.patches import patch_grid_of

answers = Answers("patchify.count")

answers.edits(
    ("square-assumed", "* (width // patch_size)", "* (height // patch_size)"),
    ("sides-added", ") * (", ") + ("),
    ("refused-only-if-both", " or ", " and "),
    ("another-error", "raise ValueError", "raise AssertionError"),
    ("returned-not-raised", "raise ", "return "),
    (UNKNOWN, "(height //", "(height %"),
)


@answers.right
def by_divmod(height, width, patch_size):
    rows, rest = divmod(height, patch_size)
    columns, other = divmod(width, patch_size)
    if rest or other:
        raise ValueError("does not fit")
    return rows * columns


@answers.right
def by_the_package(height, width, patch_size):
    rows, columns = patch_grid_of(torch.empty(1, 1, height, width), patch_size)
    return rows * columns


@answers.right
def by_loops(height, width, P):
    for side in (height, width):
        if side % P != 0:
            raise ValueError(f"{side} is not a multiple of {P}")
    return sum(1 for _ in range(0, height, P) for _ in range(0, width, P))


@answers.right
def by_floats(height, width, patch_size):
    rows, columns = height / patch_size, width / patch_size
    if not rows.is_integer() or not columns.is_integer():
        raise ValueError
    return int(rows * columns)


@answers.right
def first_bug_repaired(height, width, patch_size):
    if height % patch_size != 0 or width % patch_size != 0:
        raise ValueError("the patch size does not fit the image")
    return int(height * width / patch_size**2)


@answers.wrong("still-faulty")
def faulty(height, width, patch_size, hidden_dim=768):
    if hidden_dim % patch_size != 0:
        raise ValueError("the patch size does not fit the image")
    return int(height * width / patch_size**2)


@answers.wrong("hidden-width-tested")
def second_bug_repaired(height, width, patch_size, hidden_dim=768):
    if hidden_dim % patch_size != 0:
        raise ValueError("the patch size does not fit the image")
    return (height // patch_size) * (width // patch_size)


@answers.wrong("only-square-images")
def square_or_refused(height, width, patch_size):
    if height != width:
        raise ValueError("the image is not square")
    return (height // patch_size) * (width // patch_size)


@answers.wrong("good-size-refused")
def at_least_32(height, width, patch_size):
    if height % patch_size or width % patch_size or min(height, width) < 32:
        raise ValueError("does not fit")
    return (height // patch_size) * (width // patch_size)


@answers.wrong("only-area-checked")
def area_checked(height, width, patch_size):
    if height * width % patch_size**2:
        raise ValueError("does not fit")
    return height * width // patch_size**2


@answers.wrong("sum-of-the-sides")
def sum_checked(height, width, patch_size):
    if (height + width) % patch_size:
        raise ValueError("does not fit")
    return (height // patch_size) * (width // patch_size)


@answers.wrong("only-height-checked")
def height_checked(height, width, patch_size):
    if height % patch_size:
        raise ValueError("does not fit")
    return (height // patch_size) * (width // patch_size)


@answers.wrong("only-width-checked")
def width_checked(height, width, patch_size):
    if width % patch_size:
        raise ValueError("does not fit")
    return (height // patch_size) * (width // patch_size)


@answers.wrong("rounds-down")
def rounded_down(height, width, patch_size):
    return (height // patch_size) * (width // patch_size)


@answers.wrong("rounds-up")
def rounded_up(height, width, patch_size):
    return -(-height // patch_size) * -(-width // patch_size)


@answers.wrong("area-divided")
def area_divided(height, width, patch_size):
    return int(height * width / patch_size**2)


@answers.wrong("rounds-to-the-nearest")
def rounded(height, width, patch_size):
    return round(height / patch_size) * round(width / patch_size)
