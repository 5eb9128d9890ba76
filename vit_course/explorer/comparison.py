"""A changed picture beside the original: flipped, shuffled or cropped; and which patches show the same content."""

import torch
import torch.nn.functional as F

from vit_course._support.inputs.rules import one_of
from vit_course.maps.models.tokens import Tokens

CHANGES = ("flipped", "shuffled", "cropped")
CHANGE = one_of(*CHANGES)
KEPT = 0.625  # the share of each side that "cropped" keeps


def changed(images: torch.Tensor, order: Tokens, how: str) -> torch.Tensor:
    """(B, C, H, W) -> (B, C, H, W), changed.

    Args:
        images: the images, with the grid of patches of `order`.
        order: of the model's tokens.
        how: one of `CHANGES`: mirrored left to right, the patches in a fixed random order, or the middle enlarged.
            Pixels at the edge that no patch sees stay as they are.

    Raises:
        ValueError: patches that reach beyond the image.
    """
    CHANGE("beside", how)
    top, left, bottom, right = order.area or (0, 0, *images.shape[2:])
    if min(top, left) < 0 or bottom > images.shape[2] or right > images.shape[3]:
        raise ValueError(
            f"beside={how!r} needs patches that lie inside the image, but this model pads it, so some reach beyond it: "
            "give an image whose sides are multiples of the patch size"
        )
    out = images.clone()
    out[..., top:bottom, left:right] = _changed(images[..., top:bottom, left:right], order, how)
    return out


def _changed(images: torch.Tensor, order: Tokens, how: str) -> torch.Tensor:
    if how == "flipped":
        return images.flip(3)
    if how == "shuffled":
        return _cut(images, order.grid, _order(order))
    height, width = images.shape[2:]
    top, left = (round(side * (1 - KEPT) / 2) for side in (height, width))
    middle = images[:, :, top : height - top, left : width - left]
    return F.interpolate(middle.float(), (height, width), mode="bilinear", antialias=True).to(images)


def link_of(order: Tokens, how: str) -> list[int]:
    """Returns for each token the one with the same content in the changed picture, or the nearest if it is cut off."""
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
    # -> for each place, the number of the patch that goes there.
    rows, columns = order.grid
    return torch.randperm(rows * columns, generator=torch.Generator().manual_seed(0))


def _cut(images: torch.Tensor, grid: tuple[int, int], order: torch.Tensor) -> torch.Tensor:
    # Reorders the patches. The rest, where the sides are not multiples of the grid, stays as it is.
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
    # -> for each row or column, where its middle lies after the middle of the picture has been enlarged.
    middle = ((places + 0.5) / count - 0.5) / KEPT + 0.5
    return (middle * count).floor().clamp(0, count - 1).long()
