"""A picture changed, to stand beside itself: flipped, cropped or shuffled; and which patch is where."""

import torch
import torch.nn.functional as F

from vit_course._support.inputs.rules import one_of
from vit_course.maps.tokens import Tokens

CHANGES = ("flipped", "shuffled", "cropped")
CHANGE = one_of(*CHANGES)
KEPT = 0.625  # of each side, where the middle of a picture is cut out


def changed(images: torch.Tensor, order: Tokens, how: str) -> torch.Tensor:
    """(B, C, H, W) -> (B, C, H, W)

    Args:
        images: whose patches lie as `order` says.
        order: of the model's tokens.
        how: one of `CHANGES`: from left to right, the patches in an order drawn once and for all, or the middle
            enlarged.
    """
    CHANGE("beside", how)
    if how == "flipped":
        return images.flip(3)
    if how == "shuffled":
        return _cut(images, order.grid, _order(order))
    height, width = images.shape[2:]
    top, left = (round(side * (1 - KEPT) / 2) for side in (height, width))
    middle = images[:, :, top : height - top, left : width - left]
    return F.interpolate(middle.float(), (height, width), mode="bilinear", antialias=True).to(images)


def link_of(order: Tokens, how: str) -> list[int]:
    """-> for each token the one that shows the same in the changed picture, or the nearest where that is cut off."""
    CHANGE("beside", how)
    rows, columns = order.grid
    places = torch.arange(rows * columns).view(rows, columns)
    if how == "flipped":
        there = places.flip(1)
    elif how == "shuffled":
        there = _order(order).argsort()
    else:
        down, right = (_enlarged(torch.arange(count), count) for count in (rows, columns))
        there = down[:, None] * columns + right
    return [*range(order.num_prefix), *(order.num_prefix + there.flatten()).tolist()]


def _order(order: Tokens) -> torch.Tensor:
    # Place -> the patch that goes there.
    rows, columns = order.grid
    return torch.randperm(rows * columns, generator=torch.Generator().manual_seed(0))


def _cut(images: torch.Tensor, grid: tuple[int, int], order: torch.Tensor) -> torch.Tensor:
    # Over the whole picture, also where its sides are no multiple of the grid.
    (rows, columns), (height, width) = grid, images.shape[2:]
    tall, wide = height // rows, width // columns
    whole = images[:, :, : rows * tall, : columns * wide]
    patches = whole.unflatten(3, (columns, wide)).unflatten(2, (rows, tall))  # (B, C, rows, tall, columns, wide)
    patches = patches.movedim(4, 3).flatten(2, 3)[:, :, order]  # (B, C, N, tall, wide)
    turned = patches.unflatten(2, (rows, columns)).movedim(3, 4)  # (B, C, rows, tall, columns, wide)
    out = images.clone()
    out[:, :, : rows * tall, : columns * wide] = turned.flatten(4, 5).flatten(2, 3)
    return out


def _enlarged(places: torch.Tensor, count: int) -> torch.Tensor:
    # The place of the middle of each row or column once the middle of the picture is enlarged.
    middle = ((places + 0.5) / count - 0.5) / KEPT + 0.5
    return (middle * count).floor().clamp(0, count - 1).long()
