"""Exercise evidence.score: the share of a map's weight that lies on the object."""

import torch.nn.functional as F

from vit_course.checks.tools.mistakes import Mistake
from vit_course.checks.tools.no_gradient import same_without_gradient


def score(answer, draw):
    """`answer(map, mask)`: (B, rows, columns) and a bool mask (B, H, W) -> (B,), the share inside the mask."""
    draws = []
    # A side of 2 would make a smoothed mask right by accident; of an odd side the middle is one pixel.
    for patch, (batch, rows, columns) in ((3, draw.sizes(3, 4, 9)), (4, draw.sizes(3, 5, 9))):
        mask = draw.uniform(batch, rows * patch, columns * patch) > 0.7
        # Uneven, nowhere 0, and with a sum far from 1.
        draws.append((draw.uniform(batch, rows, columns) ** 2 / 5 + 0.001, mask))
    same_without_gradient(answer, _share, draws, "(B,)", MISTAKES)


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


def _smoothed(**options):
    def function(map, mask):
        pixels = F.interpolate(map[:, None], mask.shape[1:], **options)[:, 0]  # (B, H, W)
        return (pixels * mask).sum(dim=(1, 2)) / pixels.sum(dim=(1, 2))

    return function


MISTAKES = [
    Mistake(
        "not-divided",
        "This is the weight inside the mask, not its share of the weight on all patches.",
        {"divide": lambda inside, weights, covered: inside},
    ),
    Mistake(
        "mean-of-all-pixels",
        "The weights inside the mask are averaged over the whole image and not compared with anything.",
        {"divide": lambda inside, weights, covered: inside / weights[0].numel()},
    ),
    Mistake(
        "mean-inside",
        "This is the mean weight of a pixel of the object: it does not grow with the area that is covered.",
        {"divide": lambda inside, weights, covered: inside / covered.sum(dim=(1, 2))},
    ),
    Mistake(
        "times-chance",
        "The share is divided by the area of the object: this is a multiple of chance, not a share.",
        {"divide": lambda inside, weights, covered: inside / weights.sum(dim=(1, 2)) / covered.mean(dim=(1, 2))},
    ),
    Mistake(
        "map-not-used",
        "This is the object's share of the area; the map is not used.",
        {"divide": lambda inside, weights, covered: covered.mean(dim=(1, 2))},
    ),
    Mistake(
        "whole-batch",
        "Each image is divided by a number from the whole batch, so its share depends on the other images.",
        {"divide": lambda inside, weights, covered: inside / weights.sum()},
        {"divide": lambda inside, weights, covered: inside / weights.sum(dim=(1, 2)).max()},
    ),
    Mistake(
        "one-number",
        "There is one number for the whole batch; each image should have its own.",
        {"divide": lambda inside, weights, covered: inside.sum() / weights.sum()},
        {"divide": lambda inside, weights, covered: (inside / weights.sum(dim=(1, 2))).mean()},
    ),
    Mistake(
        "percent",
        "This is a percentage, not a share.",
        {"divide": lambda inside, weights, covered: 100 * inside / weights.sum(dim=(1, 2))},
    ),
    Mistake(
        "ratio-to-the-background",
        "The weight inside is divided by the weight outside, not by all of it.",
        {"divide": lambda inside, weights, covered: inside / (weights.sum(dim=(1, 2)) - inside)},
    ),
    Mistake(
        "divided-by-the-largest",
        "The weight inside is divided by the largest weight, not by the sum of the weights.",
        {"divide": lambda inside, weights, covered: inside / weights.amax(dim=(1, 2))},
    ),
    Mistake(
        "mask-inverted", "This is the share of the background.", {"cover": lambda tiles: 1 - tiles.mean(dim=(3, 4))}
    ),
    Mistake(
        "patch-counted-whole",
        "A patch with a single pixel of the object counts as if the object filled it.",
        {"cover": lambda tiles: tiles.amax(dim=(3, 4))},
    ),
    Mistake(
        "patch-rounded",
        "Each patch counts completely or not at all, depending on whether the object fills enough of it.",
        {"cover": lambda tiles: tiles.mean(dim=(3, 4)) > 0.5},
        {"cover": lambda tiles: tiles.mean(dim=(3, 4)) >= 0.5},
        {"cover": lambda tiles: tiles.mean(dim=(3, 4)) == 1},
    ),
    Mistake(
        "one-pixel-a-patch",
        "One pixel of each patch decides whether the whole patch counts.",
        {"cover": lambda tiles: tiles[..., 0, 0]},
        {"cover": lambda tiles: tiles[..., tiles.shape[3] // 2, tiles.shape[3] // 2]},
    ),
    Mistake(
        "mask-cut-by-bare-reshape",
        "The mask is cut by a bare reshape, so runs of pixels are averaged, not squares.",
        {"cover": lambda tiles: tiles.transpose(2, 3).reshape(*tiles.shape[:3], -1).mean(dim=-1)},
    ),
    Mistake(
        "mask-transposed",
        "The mask's patches are laid out column by column, the map's row by row.",
        {"cover": lambda tiles: tiles.mean(dim=(3, 4)).mT.reshape(tiles.shape[:3])},
    ),
    Mistake(
        "map-transposed",
        "The map's entries are laid out column by column, and the mask's patches row by row.",
        {"weight": lambda map: map.mT.reshape(map.shape)},
    ),
    Mistake(
        "softmax-of-the-map",
        "The map went through a softmax first.",
        {"weight": lambda map: map.flatten(1).softmax(dim=1).reshape(map.shape)},
    ),
    Mistake(
        "not-divided",
        "This is the weight inside the mask, not its share of the weight on all patches.",
        lambda map, mask: (_enlarged(map, mask) * mask).sum(dim=(1, 2)),
    ),
    Mistake(
        "spread-not-shared",
        "Inside the mask, each pixel has the whole weight of its patch; in the sum of the map, each patch counts once.",
        lambda map, mask: _share(map, mask) * (mask.shape[1] // map.shape[1]) ** 2,
    ),
    Mistake(
        "map-smoothed",
        "The map is smoothed on its way to the image's size, so weight leaks into neighbouring patches.",
        _smoothed(mode="bilinear"),
        _smoothed(mode="bilinear", align_corners=True),
        _smoothed(mode="bicubic"),
    ),
    Mistake(
        "largest-alone",
        "Only the largest weight, or its place, is used.",
        {"weight": lambda map: map == map.amax(dim=(1, 2), keepdim=True)},
        lambda map, mask: (
            mask.flatten(1).gather(1, _enlarged(map, mask).flatten(1).argmax(dim=1, keepdim=True))[:, 0].float()
        ),
        lambda map, mask: (_enlarged(map, mask) * mask).amax(dim=(1, 2)) / map.amax(dim=(1, 2)),
    ),
]
