"""Exercise evidence.score: the share of a map's weight that lies on the object."""

import torch.nn.functional as F

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.no_gradient import same_without_gradient
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

    same_without_gradient(__name__, answer, mask_score, draws, "(B,)")


def _by_pixel(map, mask):
    patch = mask.shape[1] // map.shape[1]
    return map.repeat_interleave(patch, dim=1).repeat_interleave(patch, dim=2)  # (B, H, W)


def _share(pixels, mask, divisor=None):
    inside = (pixels * mask).sum(dim=(1, 2))
    return inside / (pixels.sum(dim=(1, 2)) if divisor is None else divisor)


def _covered(map, mask):
    patch = mask.shape[1] // map.shape[1]
    return mask.float().unflatten(2, (-1, patch)).unflatten(1, (-1, patch)).mean(dim=(2, 4))  # (B, rows, columns)


def _corner(map, mask):
    patch = mask.shape[1] // map.shape[1]
    return mask[:, ::patch, ::patch]


def _bare(map, mask):
    return mask.float().reshape(*map.shape, -1).mean(dim=-1)


def _smoothed(map, mask):
    return F.interpolate(map[:, None], size=mask.shape[1:], mode="bilinear")[:, 0]


def _tiled(map, mask):
    patch = mask.shape[1] // map.shape[1]
    return map.repeat(1, patch, patch)


def _box(map, mask):
    return _by_pixel(map > map.mean(dim=(1, 2), keepdim=True), mask)


def _overlap(a, b):
    return (a & b).sum(dim=(1, 2)) / (a | b).sum(dim=(1, 2))


def _few_pixels(map, mask):
    return F.interpolate(mask[:, None].float(), map.shape[1:], mode="bilinear")[:, 0]


def _best_pixel(map, mask):
    return mask.flatten(1).gather(1, _by_pixel(map, mask).flatten(1).argmax(dim=1, keepdim=True))[:, 0].float()


def _means(map, mask):
    pixels = _by_pixel(map, mask)
    inside = (pixels * mask).sum(dim=(1, 2)) / mask.sum(dim=(1, 2))
    return inside, (pixels * ~mask).sum(dim=(1, 2)) / (~mask).sum(dim=(1, 2)), pixels.mean(dim=(1, 2))


def _exact(map, mask):
    return _share(map, _covered(map, mask))


def _stretched(mode, **options):
    return lambda map, mask: _share(F.interpolate(map[:, None], mask.shape[1:], mode=mode, **options)[:, 0], mask)


def _middle(map, mask):
    patch = mask.shape[1] // map.shape[1]
    return mask[:, patch // 2 :: patch, patch // 2 :: patch]
