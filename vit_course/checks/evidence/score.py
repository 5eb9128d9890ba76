"""Exercise evidence.score: the share of a map's weight that lies on the object."""

import torch.nn.functional as F

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.checks.tools.no_gradient import any_precision
from vit_course.checks.tools.slips import Known, named_by_details
from vit_course.maps.interpret import mask_score


@exercise("9.1", "The share on the object", section="A score, by hand", difficulty=2, minutes=10)
def score(answer, draw):
    """`answer(map, mask)`: (B, rows, columns) and a bool mask (B, H, W) -> (B,), the share inside the mask."""
    draws = []
    # A side of 2 would make a smoothed mask right by accident; of an odd side the middle is one pixel.
    for patch, (batch, rows, columns) in ((3, draw.sizes(3, 4, 9)), (4, draw.sizes(3, 5, 9))):
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

    def box(map, mask):
        return by_pixel(map > map.mean(dim=(1, 2), keepdim=True), mask)

    def overlap(a, b):
        return (a & b).sum(dim=(1, 2)) / (a | b).sum(dim=(1, 2))

    def few_pixels(map, mask):
        return F.interpolate(mask[:, None].float(), map.shape[1:], mode="bilinear")[:, 0]

    def best_pixel(map, mask):
        return mask.flatten(1).gather(1, by_pixel(map, mask).flatten(1).argmax(dim=1, keepdim=True))[:, 0].float()

    def means(map, mask):
        pixels = by_pixel(map, mask)
        inside = (pixels * mask).sum(dim=(1, 2)) / mask.sum(dim=(1, 2))
        return inside, (pixels * ~mask).sum(dim=(1, 2)) / (~mask).sum(dim=(1, 2)), pixels.mean(dim=(1, 2))

    def exact(map, mask):
        return share(map, covered(map, mask))

    def stretched(mode, **options):
        return lambda map, mask: share(F.interpolate(map[:, None], mask.shape[1:], mode=mode, **options)[:, 0], mask)

    def middle(map, mask):
        patch = mask.shape[1] // map.shape[1]
        return mask[:, patch // 2 :: patch, patch // 2 :: patch]

    with named_by_details(
        Known(r"Received: \(\d+, 1(, 1)?\)$", "axis-kept",
              "An axis of length 1 is left: one number for each image is asked for."),
        Known(r"Received: \(\d+, \d+\)$", "sum-over-one-axis",
              "There is a number for each row or column: the sums run over one axis of the map alone."),
        Known(r"must match the size|could not be broadcast|not match", "sizes-do-not-fit",
              "A number a patch meets a number a pixel, or patches of another side: the sizes do not fit."),
        Known(r"output size is too small|Output size is too small|should be at least|smaller than", "side-by-number",
              "The side of a patch is written as a number, and these patches are smaller."),
        Known(r"shape '.*' is invalid for input of size", "reshape-does-not-fit",
              "A reshape asks for other sizes than there are: rows and columns of a map may differ."),
        Known(r"mean\(\): could not infer output dtype", "truth-values-averaged",
              "A mean of whole numbers or truth values is asked for, and PyTorch has none: make them floats first."),
    ):  # fmt: skip
        same_function(
            any_precision(answer),
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
                *(Mistake(slug, sentence, function) for slug, sentence, function in (
                    ("patch-rounded", "A patch counts only where the object fills all of it.",
                     lambda map, mask: share(map, covered(map, mask) == 1)),
                    ("patch-rounded", "Each patch counts wholly or not at all, by whether the object fills half of it.",
                     lambda map, mask: share(map, covered(map, mask).round())),
                    ("one-pixel-a-patch", "One pixel of each patch decides whether the whole patch counts.",
                     lambda map, mask: share(map, middle(map, mask))),
                    ("mask-smoothed", "The mask was made smaller by interpolating between a few pixels of each patch.",
                     lambda map, mask: share(map, few_pixels(map, mask))),
                    ("map-smoothed", "The map is smoothed on its way to the image's size, so weight leaks into "
                     "neighbouring patches.", stretched("bilinear", align_corners=True)),
                    ("map-smoothed", "The map is smoothed on its way to the image's size, so weight leaks into "
                     "neighbouring patches.", stretched("bicubic")),
                    ("percent", "This is the share in percent.", lambda map, mask: 100 * exact(map, mask)),
                    ("pixels-added-up", "The object's pixels in a patch are added up, where the part that it covers is "
                     "asked for.", lambda map, mask: exact(map, mask) * (mask.shape[1] // map.shape[1]) ** 2),
                    ("ratio-to-the-background", "What is inside is divided by what is outside, not by all of it.",
                     lambda map, mask: exact(map, mask) / (1 - exact(map, mask))),
                    ("ratio-of-means", "This is the mean weight inside divided by the mean weight outside.",
                     lambda map, mask: means(map, mask)[0] / means(map, mask)[1]),
                    ("times-chance", "The mean weight inside is divided by that of the image: how many times chance.",
                     lambda map, mask: means(map, mask)[0] / means(map, mask)[2]),
                    ("largest-alone", "Only the place of the largest weight counts.", best_pixel),
                    ("largest-alone", "Only the patch of the largest weight counts.", lambda map, mask: covered(
                        map, mask).flatten(1).gather(1, map.flatten(1).argmax(dim=1, keepdim=True))[:, 0]),
                    ("whole-batch", "Each image is divided by the largest sum of a map in the batch.",
                     lambda map, mask: share(map, covered(map, mask), map.sum(dim=(1, 2)).max())),
                    ("largest-alone", "This is the largest weight inside, compared with the largest of all.",
                     lambda map, mask: (by_pixel(map, mask) * mask).amax(dim=(1, 2)) / map.amax(dim=(1, 2))),
                    ("divided-by-the-largest", "What is inside is divided by the largest weight, not by their sum.",
                     lambda map, mask: share(map, covered(map, mask), map.amax(dim=(1, 2)))),
                    ("averaged-over-patches", "Above the line stands a mean over the patches, and below it a sum.",
                     lambda map, mask: exact(map, mask) / map[0].numel()),
                    ("averaged-over-patches", "What is inside is divided by the number of patches.",
                     lambda map, mask: share(map, covered(map, mask), map[0].numel())),
                    ("divided-by-the-object", "What is inside is divided by the object's area, not by the map's sum.",
                     lambda map, mask: share(map, covered(map, mask), covered(map, mask).sum(dim=(1, 2)))),
                    ("softmax-of-the-map", "The map went through a softmax first.", lambda map, mask: exact(
                        map.flatten(1).softmax(dim=1).reshape(map.shape), mask)),
                    ("map-cut-in-two", "The map was made a yes or no for each patch, so that its weights are lost.",
                     lambda map, mask: share(box(map, mask), mask)),
                    ("map-cut-in-two", "The map was made a yes or no for each patch, so that its weights are lost.",
                     lambda map, mask: overlap(box(map, mask), mask)),
                    ("mask-transposed", "The mask's patches are laid out column by column, the map's row by row.",
                     lambda map, mask: share(map, covered(map, mask).mT.reshape(map.shape))),
                    ("first-image-alone", "There is one number, that of the first image.",
                     lambda map, mask: exact(map, mask)[0]),
                )),
            ],
        )  # fmt: skip
