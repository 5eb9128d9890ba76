"""Exercise evidence.score: the share of a map's weight that lies on the object."""

import torch.nn.functional as F
from einops import rearrange

from vit_course.checks.tools.mistakes import Known, Slip, wrong_functions
from vit_course.checks.tools.no_gradient import same_without_gradient


def score(answer, draw):
    """`answer(map, mask)`: (B, rows, columns) and a bool mask (B, H, W) -> (B,), the share inside the mask."""
    draws = []
    # A side of 2 would make a smoothed mask right by accident; of an odd side the middle is one pixel.
    for patch, (batch, rows, columns) in ((3, draw.sizes(3, 4, 9)), (4, draw.sizes(3, 5, 9))):
        mask = draw.uniform(batch, rows * patch, columns * patch) > 0.7
        # Uneven, nowhere 0, and with a sum far from 1.
        draws.append((draw.uniform(batch, rows, columns) ** 2 / 5 + 0.001, mask))
    same_without_gradient(answer, _share, draws, "(B,)", wrong_functions(MISTAKES, _share), errors=ERRORS)


def _share(
    map,
    mask,
    weight=lambda map: map,  # (B, rows, columns)
    cover=lambda tiles: tiles.mean(dim=(3, 4)),  # (B, rows, columns, P, P) -> (B, rows, columns)
    divide=lambda inside, weights, covered: inside / weights.sum(dim=(1, 2)),  # (B,)
):
    P = mask.shape[1] // map.shape[1]
    tiles = mask.float().unflatten(2, (-1, P)).unflatten(1, (-1, P)).transpose(2, 3)  # (B, rows, columns, P, P)
    weights, covered = weight(map), cover(tiles)
    return divide((weights * covered).sum(dim=(1, 2)), weights, covered)


def _enlarged(map, mask):
    P = mask.shape[1] // map.shape[1]
    return map.repeat_interleave(P, dim=1).repeat_interleave(P, dim=2)  # (B, H, W)


def _inside(pixels, mask):
    return (pixels * mask).sum(dim=(1, 2)) / pixels.sum(dim=(1, 2))


ERRORS = [
    Known(
        r"Received: \(\d+, 1, 1\)$",
        "axis-kept",
        "Axes of length 1 are left; the exercise asks for one number for each image.",
    ),
    Known(
        r"Received: \(\d+, \d+\)$",
        "sum-over-one-axis",
        "There is a number for each row or column: the sums run over only one axis of the map.",
    ),
    Known(
        "must match the size|could not be broadcast|not match",
        "sizes-do-not-fit",
        (
            "Numbers for patches are combined with numbers for pixels, or for patches of another size: the sizes "
            "do not match."
        ),
    ),
    Known(
        "output size is too small|Output size is too small|should be at least|smaller than",
        "side-by-number",
        "The side of a patch is hard-coded, and these patches are smaller.",
    ),
    Known(
        "shape '.*' is invalid for input of size",
        "reshape-does-not-fit",
        "A reshape uses sizes that do not fit: a map may have different numbers of rows and columns.",
    ),
    Known(
        r"mean\(\): could not infer output dtype",
        "truth-values-averaged",
        "Your code takes the mean of whole numbers or truth values; PyTorch computes means only of floats.",
    ),
]

MISTAKES = {
    "divide": [
        Slip(
            "not-divided",
            "This is the weight inside the mask, not its share of the weight on all patches.",
            lambda inside, weights, covered: inside,
        ),
        Slip(
            "mean-of-all-pixels",
            "The weights inside the mask are averaged over the whole image and not compared with anything.",
            lambda inside, weights, covered: inside / weights[0].numel(),
        ),
        Slip(
            "mean-inside",
            "This is the mean weight of a pixel of the object: it does not grow with the area that is covered.",
            lambda inside, weights, covered: inside / covered.sum(dim=(1, 2)),
        ),
        Slip(
            "times-chance",
            "The share is divided by the area of the object: this is a multiple of chance, not a share.",
            lambda inside, weights, covered: inside / weights.sum(dim=(1, 2)) / covered.mean(dim=(1, 2)),
        ),
        Slip(
            "map-not-used",
            "This is the object's share of the area; the map is not used.",
            lambda inside, weights, covered: covered.mean(dim=(1, 2)),
        ),
        Slip(
            "whole-batch",
            "Each image is divided by a number from the whole batch, so its share depends on the other images.",
            lambda inside, weights, covered: inside / weights.sum(),
            lambda inside, weights, covered: inside / weights.sum(dim=(1, 2)).max(),
        ),
        Slip(
            "one-number",
            "There is one number for the whole batch; each image should have its own.",
            lambda inside, weights, covered: inside.sum() / weights.sum(),
            lambda inside, weights, covered: (inside / weights.sum(dim=(1, 2))).mean(),
        ),
        Slip(
            "percent",
            "This is a percentage, not a share.",
            lambda inside, weights, covered: 100 * inside / weights.sum(dim=(1, 2)),
        ),
        Slip(
            "ratio-to-the-background",
            "The weight inside is divided by the weight outside, not by all of it.",
            lambda inside, weights, covered: inside / (weights.sum(dim=(1, 2)) - inside),
        ),
        Slip(
            "divided-by-the-largest",
            "The weight inside is divided by the largest weight, not by the sum of the weights.",
            lambda inside, weights, covered: inside / weights.amax(dim=(1, 2)),
        ),
        Slip(
            "averaged-over-patches",
            "The numerator is a mean over the patches, but the denominator is a sum.",
            lambda inside, weights, covered: inside / weights[0].numel() / weights.sum(dim=(1, 2)),
        ),
    ],
    "cover": [
        Slip("mask-inverted", "This is the share of the background.", lambda tiles: 1 - tiles.mean(dim=(3, 4))),
        Slip(
            "patch-counted-whole",
            "A patch with a single pixel of the object counts as if the object filled it.",
            lambda tiles: tiles.amax(dim=(3, 4)),
        ),
        Slip(
            "patch-rounded",
            "Each patch counts completely or not at all, depending on whether the object fills enough of it.",
            lambda tiles: tiles.mean(dim=(3, 4)) > 0.5,
            lambda tiles: tiles.mean(dim=(3, 4)) >= 0.5,
            lambda tiles: tiles.mean(dim=(3, 4)) == 1,
        ),
        Slip(
            "one-pixel-a-patch",
            "One pixel of each patch decides whether the whole patch counts.",
            lambda tiles: tiles[..., 0, 0],
            lambda tiles: tiles[..., tiles.shape[3] // 2, tiles.shape[3] // 2],
        ),
        Slip(
            "mask-cut-by-bare-reshape",
            "The mask is cut by a bare reshape, so runs of pixels are averaged, not squares.",
            lambda tiles: tiles.transpose(2, 3).reshape(*tiles.shape[:3], -1).mean(dim=-1),
        ),
        Slip(
            "mask-smoothed",
            "The mask was made smaller by interpolating between a few pixels of each patch.",
            lambda tiles: F.interpolate(
                rearrange(tiles, "b r c p q -> b 1 (r p) (c q)"), tiles.shape[1:3], mode="bilinear"
            )[:, 0],
        ),
        Slip(
            "mask-transposed",
            "The mask's patches are laid out column by column, the map's row by row.",
            lambda tiles: tiles.mean(dim=(3, 4)).mT.reshape(tiles.shape[:3]),
        ),
    ],
    "weight": [
        Slip(
            "map-transposed",
            "The map's entries are laid out column by column, and the mask's patches row by row.",
            lambda map: map.mT.reshape(map.shape),
        ),
        Slip(
            "softmax-of-the-map",
            "The map went through a softmax first.",
            lambda map: map.flatten(1).softmax(dim=1).reshape(map.shape),
        ),
        Slip(
            "map-cut-in-two",
            "The map was turned into a yes or no for each patch, so its weights are lost.",
            lambda map: map > map.mean(dim=(1, 2), keepdim=True),
        ),
    ],
    "result": [
        Slip(
            "not-divided",
            "This is the weight inside the mask, not its share of the weight on all patches.",
            lambda map, mask: (_enlarged(map, mask) * mask).sum(dim=(1, 2)),
        ),
        Slip(
            "spread-not-shared",
            (
                "Inside the mask, each pixel has the whole weight of its patch; in the sum of the map, each patch "
                "counts once."
            ),
            lambda map, mask: _share(map, mask) * (mask.shape[1] // map.shape[1]) ** 2,
        ),
        Slip(
            "map-tiled",
            "The whole map is repeated side by side; each of its entries should become a square.",
            lambda map, mask: _inside(
                map.repeat(1, mask.shape[1] // map.shape[1], mask.shape[2] // map.shape[2]), mask
            ),
        ),
        Slip(
            "map-smoothed",
            "The map is smoothed on its way to the image's size, so weight leaks into neighbouring patches.",
            lambda map, mask: _inside(F.interpolate(map[:, None], mask.shape[1:], mode="bilinear")[:, 0], mask),
            lambda map, mask: _inside(
                F.interpolate(map[:, None], mask.shape[1:], mode="bilinear", align_corners=True)[:, 0], mask
            ),
            lambda map, mask: _inside(F.interpolate(map[:, None], mask.shape[1:], mode="bicubic")[:, 0], mask),
        ),
        Slip(
            "largest-alone",
            "Only the largest weight, or its place, is used.",
            lambda map, mask: _share(map, mask, weight=lambda map: map == map.amax(dim=(1, 2), keepdim=True)),
            lambda map, mask: (
                mask.flatten(1).gather(1, _enlarged(map, mask).flatten(1).argmax(dim=1, keepdim=True))[:, 0].float()
            ),
            lambda map, mask: (_enlarged(map, mask) * mask).amax(dim=(1, 2)) / map.amax(dim=(1, 2)),
        ),
    ],
}
