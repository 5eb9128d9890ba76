"""Answers to exercise patchify.count."""

import math

import torch

from answers import right, unforeseen, wrong
from answers.patchify.shared import fitting
from vit_course import patches as package
from vit_course.checks.draw import Draw


@right("patchify.count")
def with_divmod(height, width, patch_size):
    rows, rest = divmod(height, patch_size)
    columns, other = divmod(width, patch_size)
    if rest or other:
        raise ValueError("does not fit")
    return rows * columns


@right("patchify.count")
def of_package(height, width, patch_size):
    rows, columns = package.patch_grid_of(torch.empty(1, 1, height, width), patch_size)
    return rows * columns


@right("patchify.count")
def counted(height, width, P):
    for side in (height, width):
        if side % P != 0:
            raise ValueError(f"{side} is not a multiple of {P}")
    total = 0
    for _ in range(0, height, P):
        for _ in range(0, width, P):
            total += 1
    return total


@right("patchify.count")
def whole_numbers_from_floats(height, width, patch_size):
    rows, columns = height / patch_size, width / patch_size
    if not rows.is_integer() or not columns.is_integer():
        raise ValueError
    return int(rows * columns)


def _fits_and(function):
    def count(height, width, P):
        fitting(height, width, P)
        return function(height, width, P)

    return count


for slug, function in (
    ("one-side-only", lambda h, w, p: h // p),
    ("one-side-only", lambda h, w, p: w // p),
    ("square-assumed", lambda h, w, p: (h // p) ** 2),
    ("square-assumed", lambda h, w, p: (w // p) ** 2),
    ("sides-added", lambda h, w, p: h // p + w // p),
    ("side-not-squared", lambda h, w, p: h * w // p),
    ("class-token-counted", lambda h, w, p: (h // p) * (w // p) + 1),
    ("float-count", lambda h, w, p: (h / p) * (w / p)),
    ("hard-coded-size", lambda h, w, p: (h // Draw(0).sizes(3)[2]) * (w // Draw(0).sizes(3)[2])),
    ("returned-nothing", lambda h, w, p: print(h // p * w // p)),
):
    wrong("patchify.count", slug)(_fits_and(function))
wrong("patchify.count", "one-row-less-or-more")(_fits_and(lambda h, w, p: (h // p - 1) * (w // p - 1)))
unforeseen("patchify.count")(_fits_and(lambda h, w, p: (h // p - 2) * (w // p) + 5))


def _refuses(slug, condition, error=ValueError):
    @wrong("patchify.count", slug)
    def count(height, width, P):
        if condition(height, width, P):
            raise error
        return (height // P) * (width // P)


_refuses("area-compared-with-a-side", lambda h, w, p: h * w % p)
_refuses("sum-of-the-sides", lambda h, w, p: (h + w) % p)
_refuses("small-image-passes", lambda h, w, p: (h > p and h % p) or (w > p and w % p))
_refuses("square-image-passes", lambda h, w, p: h != w and (h % p or w % p))
_refuses("good-size-refused", lambda h, w, p: h % p or w % p or min(h, w) < 32)
_refuses("another-error", lambda h, w, p: h % p or w % p, NotImplementedError)


@wrong("patchify.count", "rounds-down")
def floor(height, width, patch_size):
    return (height // patch_size) * (width // patch_size)


@wrong("patchify.count", "rounds-down")
def truncated(height, width, patch_size):
    return int(height / patch_size) * int(width / patch_size)


@wrong("patchify.count", "rounds-up")
def ceiling(height, width, patch_size):
    return math.ceil(height / patch_size) * math.ceil(width / patch_size)


@wrong("patchify.count", "area-divided")
def area(height, width, patch_size):
    return height * width // patch_size**2


@wrong("patchify.count", "only-area-checked")
def area_checked(height, width, patch_size):
    if height * width % patch_size**2:
        raise ValueError
    return height * width // patch_size**2


@wrong("patchify.count", "only-height-checked")
def height_checked(height, width, patch_size):
    if height % patch_size:
        raise ValueError
    return (height // patch_size) * (width // patch_size)


@wrong("patchify.count", "only-width-checked")
def width_checked(height, width, patch_size):
    if width % patch_size:
        raise ValueError
    return height * width // patch_size**2


@wrong("patchify.count", "refused-only-if-both")
def both(height, width, patch_size):
    if height % patch_size and width % patch_size:
        raise ValueError
    return (height // patch_size) * (width // patch_size)


@wrong("patchify.count", "another-error")
def asserted(height, width, patch_size):
    assert height % patch_size == 0 and width % patch_size == 0
    return (height // patch_size) * (width // patch_size)


@wrong("patchify.count", "returned-not-raised")
def class_returned(height, width, patch_size):
    return ValueError if height % patch_size or width % patch_size else with_divmod(height, width, patch_size)


@wrong("patchify.count", "returned-not-raised")
def error_returned(height, width, patch_size):
    if height % patch_size or width % patch_size:
        return ValueError("does not fit")
    return (height // patch_size) * (width // patch_size)


@wrong("patchify.count", "returned-not-raised")
def printed(height, width, patch_size):
    if height % patch_size or width % patch_size:
        print("does not fit")
        return None
    return (height // patch_size) * (width // patch_size)


@wrong("patchify.count", "only-square-images")
def only_square(height, width, patch_size):
    if height != width:
        raise ValueError("not square")
    return (height // patch_size) ** 2


@wrong("patchify.count", "condition-inverted")
def condition_inverted(height, width, patch_size):
    if height % patch_size == 0 and width % patch_size == 0:
        raise ValueError("does not fit")
    return (height // patch_size) * (width // patch_size)


@wrong("patchify.count", "raised-error")
def misspelt(height, width, patch_size):
    return rows // patch_size  # noqa: F821


@wrong("patchify.count", "rounds-to-the-nearest")
def rounded(height, width, patch_size):
    return round(height / patch_size) * round(width / patch_size)


@unforeseen("patchify.count")
def large_only(height, width, patch_size):
    if height > 5 and (height % patch_size or width % patch_size):
        raise ValueError
    return (height // patch_size) * (width // patch_size)
