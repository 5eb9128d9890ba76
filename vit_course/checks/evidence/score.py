"""Exercise evidence.score: the share of a map's weight that lies on the object."""

import torch.nn.functional as F

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.maps.interpret import mask_score


@exercise("The share on the object", section="A score, by hand", difficulty=2, minutes=10)
def score(answer, draw):
    """`answer(map, mask)`: (B, rows, columns) and a bool mask (B, H, W) -> (B,), the share inside the mask."""
    draws = []
    for batch, rows, columns, patch in (draw.sizes(4), draw.sizes(4)):
        mask = draw.uniform(batch, rows * patch, columns * patch) > 0.7
        # Uneven, nowhere 0, and with a sum far from 1.
        draws.append((draw.uniform(batch, rows, columns) ** 2 / 5 + 0.001, mask))

    def by_pixel(map, mask):
        patch = mask.shape[1] // map.shape[1]
        return map.repeat_interleave(patch, dim=1).repeat_interleave(patch, dim=2)  # (B, H, W)

    def share(pixels, mask, divisor=None):
        inside = (pixels * mask).sum(dim=(1, 2))
        return inside / (pixels.sum(dim=(1, 2)) if divisor is None else divisor)

    def covered(map, mask):
        patch = mask.shape[1] // map.shape[1]
        return mask.float().unflatten(2, (-1, patch)).unflatten(1, (-1, patch)).mean(dim=(2, 4))  # (B, rows, columns)

    def corner(map, mask):
        patch = mask.shape[1] // map.shape[1]
        return mask[:, ::patch, ::patch]

    def bare(map, mask):
        return mask.float().reshape(*map.shape, -1).mean(dim=-1)

    def smoothed(map, mask):
        return F.interpolate(map[:, None], size=mask.shape[1:], mode="bilinear")[:, 0]

    def tiled(map, mask):
        patch = mask.shape[1] // map.shape[1]
        return map.repeat(1, patch, patch)

    same_function(
        answer,
        mask_score,
        draws,
        axes="(B,)",
        differentiable=False,
        mistakes=[
            Mistake(
                "not-divided",
                "This is what falls inside the mask, not its part of all that falls on patches.",
                lambda map, mask: share(map, covered(map, mask), 1),
            ),
            Mistake(
                "not-divided",
                "This is what falls inside the mask, not its part of all that falls on patches.",
                lambda map, mask: share(by_pixel(map, mask), mask, 1),
            ),
            Mistake(
                "spread-not-shared",
                "Inside the mask each pixel has its patch's whole weight; in the map's sum each patch counts once.",
                lambda map, mask: share(by_pixel(map, mask), mask, map.sum(dim=(1, 2))),
            ),
            Mistake(
                "mask-inverted",
                "This is the share of the background.",
                lambda map, mask: share(by_pixel(map, mask), ~mask),
            ),
            Mistake(
                "mean-of-all-pixels",
                "The weights inside the mask are averaged over the whole image and compared with nothing.",
                lambda map, mask: share(by_pixel(map, mask), mask, mask[0].numel()),
            ),
            Mistake(
                "mean-inside",
                "This is the mean weight of a pixel of the object: it does not grow with the part that is covered.",
                lambda map, mask: share(by_pixel(map, mask), mask, mask.sum(dim=(1, 2))),
            ),
            Mistake(
                "times-chance",
                "The share is divided by the object's area: it says how many times chance, not how much.",
                lambda map, mask: share(by_pixel(map, mask), mask) / mask.float().mean(dim=(1, 2)),
            ),
            Mistake(
                "map-not-used",
                "This is the object's part of the area, whatever the map says.",
                lambda map, mask: mask.float().mean(dim=(1, 2)),
            ),
            Mistake(
                "patch-counted-whole",
                "A patch that holds a single pixel of the object counts as if the object filled it.",
                lambda map, mask: share(map, covered(map, mask) > 0),
            ),
            Mistake(
                "patch-rounded",
                "Each patch counts wholly or not at all, by whether the object fills half of it.",
                lambda map, mask: share(map, covered(map, mask) > 0.5),
            ),
            Mistake(
                "patch-rounded",
                "Each patch counts wholly or not at all, by whether the object fills half of it.",
                lambda map, mask: share(map, covered(map, mask) >= 0.5),
            ),
            Mistake(
                "one-pixel-a-patch",
                "One pixel of each patch decides whether the whole patch counts.",
                lambda map, mask: share(map, corner(map, mask)),
            ),
            Mistake(
                "mask-cut-by-bare-reshape",
                "The mask is cut by a bare reshape: what is averaged are runs of pixels, not squares.",
                lambda map, mask: share(map, bare(map, mask)),
            ),
            Mistake(
                "map-tiled",
                "The whole map is repeated side by side, where each of its entries should become a square.",
                lambda map, mask: share(tiled(map, mask), mask),
            ),
            Mistake(
                "map-smoothed",
                "The map is smoothed on its way to the image's size, so weight leaks into neighbouring patches.",
                lambda map, mask: share(smoothed(map, mask), mask),
            ),
            Mistake(
                "map-transposed",
                "The map's entries are laid out column by column, and the mask's patches row by row.",
                lambda map, mask: share(by_pixel(map.transpose(1, 2).reshape(map.shape), mask), mask),
            ),
            Mistake(
                "whole-batch",
                "Each image is divided by the weight of the whole batch, so a share changes with the other images.",
                lambda map, mask: share(by_pixel(map, mask), mask, by_pixel(map, mask).sum()),
            ),
            Mistake(
                "one-number",
                "There is one number for the whole batch where each image has its own.",
                lambda map, mask: (by_pixel(map, mask) * mask).sum() / by_pixel(map, mask).sum(),
            ),
            Mistake(
                "one-number",
                "There is one number for the whole batch where each image has its own.",
                lambda map, mask: share(by_pixel(map, mask), mask).mean(),
            ),
        ],
    )
