"""Numbers computed from attention maps: rollout, relevance, attention distance, scores against a mask."""

import torch

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.tensors import (
    broadcast_together,
    check_finite,
    check_floats,
    check_rows,
    check_tensor,
    check_together,
    need_finite,
)


def rollout(maps: torch.Tensor) -> torch.Tensor:
    """(B, L, h, T, T) -> (B, T, T)

    Follows attention through all layers: averages the heads, mixes each layer half and half with the identity (the
    residual connection), and multiplies the matrices of the layers. Each row sums to 1.

    Args:
        maps: from `record_attention(...).stacked()`.

    Raises:
        TypeError: not a tensor.
        ValueError: not five axes, maps that are not square, not finite floating-point numbers, or rows that do not
            sum to 1.

    Source: Abnar & Zuidema 2020 (arXiv:2005.00928), section 3, Eq. 1.
    """
    _check_maps(maps)
    size = maps.shape[-1]
    layers = 0.5 * maps.mean(dim=2) + 0.5 * torch.eye(size, dtype=maps.dtype, device=maps.device)  # (B, L, T, T)
    flow = layers[:, 0]  # (B, T, T)
    for layer in layers.unbind(1)[1:]:
        flow = layer @ flow  # (B, T, T)
    return flow


def relevance(maps: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """(B, L, h, T, T), (B, L, h, T, T) -> (B, T, T)

    Which tokens contributed to the logit of a class: each weight is multiplied by its gradient, negative products are
    set to 0, heads are averaged, and the layers are combined as in rollout, but with the whole identity for the
    residual connection. Unlike in rollout, the map depends on the class. Row 0 is the class token's.

    Args:
        maps, gradients: from `attention_gradients`.

    Raises:
        TypeError: not a tensor.
        ValueError: as `rollout`; gradients of another shape, type or device, not finite, or so large that the
            relevance is not.

    Source: Chefer, Gur & Wolf 2021 (arXiv:2103.15679), Eq. 5 and 6, for self-attention.
    """
    _check_maps(maps)
    check_floats("gradients", gradients)
    if maps.shape != gradients.shape:
        raise ValueError(f"maps have shape {tuple(maps.shape)}, but gradients have shape {tuple(gradients.shape)}")
    check_together("maps", maps, "gradients", gradients)
    check_finite("gradients", gradients)
    layers = (maps * gradients).clamp(min=0).mean(dim=2)  # (B, L, T, T)
    flow = torch.eye(maps.shape[-1], dtype=maps.dtype, device=maps.device).expand(len(maps), -1, -1)  # (B, T, T)
    for layer in layers.unbind(1):
        flow = flow + layer @ flow  # (B, T, T)
    return need_finite("the relevance", flow)


def attention_distance(
    maps: torch.Tensor, grid: tuple[int, int], patch_size: int, num_prefix: int | None = None
) -> torch.Tensor:
    """(B, L, h, T, T) -> (L, h)

    How far, in pixels, a head looks: the distance from the query patch to each key patch, weighted by attention,
    averaged over queries and images. A class token and registers have no position and are left out; the rest of each
    row is rescaled to 1.

    Args:
        maps: from `record_attention(...).stacked()`.
        grid: (rows, columns) of patches.
        patch_size: P, in pixels.
        num_prefix: as `patch_part` takes it.

    Raises:
        TypeError: not a tensor.
        ValueError: as `patch_part`; or a size is impossible, or a patch gives no attention to any patch.

    Source: Dosovitskiy et al. 2020, Fig. 7 right and section D.7.
    """
    check_arguments(patch_size=patch_size)
    patches = patch_part(maps, grid, num_prefix)  # (B, L, h, N, N)
    totals = patches.sum(dim=-1, keepdim=True)  # (B, L, h, N, 1)
    if (totals == 0).any():
        wrong = int((totals == 0).sum())
        raise ValueError(
            f"each row must give some patch attention, but {wrong} of {totals.numel()} rows give it to none"
        )
    patches = patches / totals
    rows, columns = torch.meshgrid(torch.arange(grid[0]), torch.arange(grid[1]), indexing="ij")
    places = torch.stack([rows.flatten(), columns.flatten()], dim=1) * patch_size  # (N, 2)
    # torch.cdist does not support half precision.
    places = places.to(maps.device, torch.promote_types(maps.dtype, torch.float32))
    return (patches * torch.cdist(places, places).to(maps.dtype)).sum(dim=-1).mean(dim=(0, 3))  # (L, h)


def mask_score(map: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(..., rows, columns), (..., H, W) -> (...)

    The share of a map that falls on an object: each patch's attention, spread evenly over its pixels, summed inside
    the mask and divided by the map's sum. 1 for a map inside the mask, the mask's area for a uniform map.

    Args:
        map: attention over the grid of patches, not negative.
        mask: True on the object, at the image's size.

    Raises:
        TypeError: not a tensor.
        ValueError: a mask that is not bool or whose size is not a multiple of the grid, leading axes that do not fit
            the map's, or a map that is negative, not finite or 0 everywhere.
    """
    _check_map_and_mask(map, mask)
    if (map < 0).any():
        raise ValueError(f"the map must not be negative, but {int((map < 0).sum())} of {map.numel()} numbers are")
    total = map.sum(dim=(-2, -1))
    if (total == 0).any():
        raise ValueError(
            f"the map must not be 0 everywhere, but it is in {int((total == 0).sum())} of {total.numel()} images"
        )
    rows, columns = map.shape[-2:]
    tiles = mask.to(map).unflatten(-1, (columns, -1)).unflatten(-3, (rows, -1))  # (..., rows, P, columns, P)
    covered = tiles.mean(dim=(-3, -1))  # (..., rows, columns), the part of each patch that the object covers
    return (map * covered).sum(dim=(-2, -1)) / total


def pointing_game(map: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(..., rows, columns), (..., H, W) -> (...) of bool

    Whether the patch with the largest weight (the first, if there are several) has its centre on the object. By chance,
    the probability is the share of the patches' centres that lie on the mask.

    Args:
        map: attention over the grid of patches.
        mask: True on the object, at the image's size.

    Raises:
        TypeError: not a tensor.
        ValueError: a mask that is not bool or whose size is not a multiple of the grid, leading axes that do not fit
            the map's, or a map that is not finite.

    Source: Zhang et al. 2016, "Top-down neural attention by excitation backprop" (arXiv:1608.00507), section 4.
    """
    _check_map_and_mask(map, mask)
    (rows, columns), (height, width) = map.shape[-2:], mask.shape[-2:]
    down, across = height // rows, width // columns
    centres = mask[..., down // 2 :: down, across // 2 :: across]  # (..., rows, columns)
    most = map.flatten(-2).argmax(dim=-1, keepdim=True)  # (..., 1)
    leading = torch.broadcast_shapes(map.shape[:-2], mask.shape[:-2])
    most = most.expand(*leading, 1)
    return centres.expand(*leading, rows, columns).flatten(-2).gather(-1, most)[..., 0]


def mean_and_error(per_picture: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(B, ...) -> (...), (...): the mean over pictures and its standard error, such as of scores (B, L, h) of heads.

    The pictures are taken as independent. Where there are several numbers for each of them that are to be averaged,
    such as scores of all heads of a layer or of several queries, average these first: numbers of one picture go up and
    down together, so that counting them one by one makes the error too small (errors clustered by picture).

    Args:
        per_picture: one number for each picture, or several that stay apart.

    Raises:
        TypeError: not a tensor.
        ValueError: no axis, no picture, or numbers that are not floating-point.
    """
    check_floats("per_picture", per_picture)
    if not per_picture.ndim or not len(per_picture):
        raise ValueError(
            f"per_picture must be (B, ...) with at least one picture, got shape {tuple(per_picture.shape)}"
        )
    mean, count = per_picture.mean(dim=0), len(per_picture)
    unknown = torch.full_like(mean, torch.nan)  # one picture says nothing about others
    return mean, per_picture.std(dim=0) / count**0.5 if count > 1 else unknown


def patch_part(maps: torch.Tensor, grid: tuple[int, int], num_prefix: int | None = None) -> torch.Tensor:
    """(B, L, h, T, T) -> (B, L, h, N, N): patches to patches, without the rows and columns of the other tokens.

    Args:
        maps: from `record_attention(...).stacked()`.
        grid: (rows, columns) of patches.
        num_prefix: how many tokens come before the patches, as `record_attention(...).tokens().num_prefix` says; by
            default a class token or none, whichever fits.

    Raises:
        TypeError: not a tensor.
        ValueError: as `rollout`; or T does not fit this grid and prefix, or a size is impossible.
    """
    _check_maps(maps)
    check_arguments(grid=grid)
    count, tokens = grid[0] * grid[1], maps.shape[-1]
    if num_prefix is None:
        if tokens not in (count, count + 1):
            raise ValueError(
                f"a grid of {grid[0]} x {grid[1]} has {count} or {count + 1} tokens, but the maps have {tokens}: "
                "num_prefix says how many come before the patches, if there is more than a class token"
            )
    else:
        check_arguments(num_prefix=num_prefix)
        if tokens != count + num_prefix:
            raise ValueError(
                f"a grid of {grid[0]} x {grid[1]} after {num_prefix} other tokens makes {count + num_prefix} tokens, "
                f"but the maps have {tokens}"
            )
    return maps[..., -count:, -count:]


def _check_maps(maps: torch.Tensor) -> None:
    check_floats("maps", maps)
    if maps.ndim != 5 or maps.shape[-1] != maps.shape[-2] or 0 in maps.shape:
        raise ValueError(f"maps must be (B, L, h, T, T), got shape {tuple(maps.shape)}")
    check_finite("maps", maps)
    check_rows("maps", maps)


def _check_map_and_mask(map: torch.Tensor, mask: torch.Tensor) -> None:
    check_floats("map", map)
    check_tensor("mask", mask)
    if mask.dtype != torch.bool:
        raise ValueError(f"mask must be torch.bool, True on the object, got {mask.dtype}")
    for name, x in (("map", map), ("mask", mask)):
        if x.ndim < 2 or 0 in x.shape:
            raise ValueError(f"{name} must have at least 2 axes, none of size 0, got shape {tuple(x.shape)}")
    if map.device != mask.device:
        raise ValueError(f"the map is on {map.device}, but the mask on {mask.device}: move one of them")
    (rows, columns), (height, width) = map.shape[-2:], mask.shape[-2:]
    if height % rows or width % columns:
        raise ValueError(
            f"the mask must be a multiple of the map, {rows} x {columns}, in height and width, got {height} x {width}"
        )
    if not broadcast_together(map.shape[:-2], mask.shape[:-2]):
        raise ValueError(
            f"maps of shape {tuple(map.shape)} and masks of shape {tuple(mask.shape)} need leading axes that are "
            "equal, or 1"
        )
    check_finite("map", map)
