"""Exercise evidence.score: the share of a map's weight that lies on the object."""

from vit_course.checks.tools.no_gradient import same_without_gradient


def score(answer, draw):
    """`answer(map, mask)`: (B, rows, columns) and a bool mask (B, H, W) -> (B,), the share inside the mask."""
    draws = []
    # A side of 2 would make a smoothed mask right by accident; of an odd side the middle is one pixel.
    for patch, (batch, rows, columns) in ((3, draw.sizes(3, 4, 9)), (4, draw.sizes(3, 5, 9))):
        mask = draw.uniform(batch, rows * patch, columns * patch) > 0.7
        # Uneven, nowhere 0, and with a sum far from 1.
        draws.append((draw.uniform(batch, rows, columns) ** 2 / 5 + 0.001, mask))
    same_without_gradient(__name__, answer, _share, draws, "(B,)")


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
