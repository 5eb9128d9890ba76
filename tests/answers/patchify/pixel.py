"""Answers to exercise patchify.pixel."""

import torch
import torch.nn.functional as F

from answers import right, unforeseen, wrong
from vit_course import patches as package

RIGHT_PIXEL = {
    "patch": 22,
    "place": 89,
    "place_with_unfold": 157,
    "tokens_changed": 9,
    "times_the_pairs": 81,
    "times_the_products": 1,
}


@right("patchify.pixel")
def as_numbers():
    return RIGHT_PIXEL


@right("patchify.pixel")
def by_arithmetic():
    (top, i), (left, j) = divmod(19, 8), divmod(37, 8)
    return dict(
        patch=top * (72 // 8) + left,
        place=(i * 8 + j) * 3 + 2,
        place_with_unfold=(2 * 8 + i) * 8 + j,
        tokens_changed=len(range(1, 4)) * len(range(3, 6)),
        times_the_pairs=(24 // 8) ** 4,
        times_the_products=1,
    )


@right("patchify.pixel")
def by_marking():
    image = torch.zeros(1, 3, 48, 72)
    image[0, 2, 19, 37] = 1
    patch, place = package.patchify(image, 8)[0].nonzero()[0]
    unfolded = F.unfold(image, 8, stride=8)[0].nonzero()[0, 0]
    changed = (F.conv2d(image, torch.ones(1, 3, 24, 24), stride=8, padding=8) != 0).sum()
    return {
        "patch": patch,
        "place": place,
        "place_with_unfold": unfolded,
        "tokens_changed": changed,
        "times_the_pairs": 54**2 // 6**2,
        "times_the_products": (54 * 192) // (6 * 1728),
    }


for slug, changes in (
    ("counted-from-one", {"patch": 23}),
    ("columns-first", {"patch": 4 * 6 + 2}),
    ("rows-for-columns", {"patch": 2 * 6 + 4}),
    ("pixels-counted", {"patch": 19 * 72 + 37}),
    ("counted-from-one", {"place": 90}),
    ("channels-first", {"place": 157}),
    ("channels-forgotten", {"place": 29}),
    ("pixels-transposed", {"place": (5 * 8 + 3) * 3 + 2}),
    ("counted-from-one", {"place_with_unfold": 158}),
    ("channels-last", {"place_with_unfold": 89}),
    ("pixels-transposed", {"place_with_unfold": 2 * 64 + 5 * 8 + 3}),
    ("overlap-forgotten", {"tokens_changed": 1}),
    ("one-direction-only", {"tokens_changed": 3}),
    ("windows-twice-the-step", {"tokens_changed": 4}),
    ("directions-added", {"tokens_changed": 6}),
    ("all-tokens", {"tokens_changed": 54}),
    ("side-only", {"times_the_pairs": 3}),
    ("patches-not-pairs", {"times_the_pairs": 9}),
    ("wrong-power", {"times_the_pairs": 27}),
    ("factors-added", {"times_the_pairs": 12}),
    ("side-only", {"times_the_products": 3}),
    ("length-forgotten", {"times_the_products": 9}),
    ("number-forgotten", {"times_the_products": 1 / 9}),
    ("pairs-not-products", {"times_the_products": 81}),
    ("float-count", {"times_the_pairs": 3.0**4}),
):
    wrong("patchify.pixel", slug)(lambda changes=changes: RIGHT_PIXEL | changes)
for slug, changes in (
    ("row-and-column-exchanged", {"patch": 38}),
    ("channel-left-out", {"place": 87}),
    ("place-in-the-image", {"place": 4217}),
    ("counted-from-one", {"place_with_unfold": 221}),
    ("not-compared", {"times_the_pairs": 2916}),
):
    wrong("patchify.pixel", slug)(lambda changes=changes: RIGHT_PIXEL | changes)
wrong("patchify.pixel", "wrong-keys")(lambda: {"patch": 22})
unforeseen("patchify.pixel")(lambda: RIGHT_PIXEL | {"patch": 21})
