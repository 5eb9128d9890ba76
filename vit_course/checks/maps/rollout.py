"""Exercise maps.rollout: rollout with the head maximum, to be debugged."""

import torch

from vit_course.checks.tools.no_gradient import same_without_gradient


def rollout(answer, draw):
    """`answer(maps)`: (L, h, T, T), the maps of one image -> (T, T)."""
    # Few layers: behind many, all rows are nearly alike, whatever a single one was.
    draws = [(uneven_maps(draw, layers, *draw.sizes(2, 5, 9)),) for layers in (2, 4, 3)]
    same_without_gradient(__name__, answer, flow, draws, "(T, T)")


def uneven_maps(draw, *shape: int) -> torch.Tensor:
    """Attention weights (*shape, last of shape), uneven enough that no mistake hides in the rounding."""
    return (2 * draw.normal(*shape, shape[-1])).softmax(dim=-1)


def by_row_sums(matrix: torch.Tensor) -> torch.Tensor:
    """(T, T) -> (T, T), rows that sum to 1."""
    return matrix / matrix.sum(dim=-1, keepdim=True)


def flow(
    maps,
    divide=by_row_sums,
    later_first=True,
    fuse=torch.amax,
    identity=1.0,
    layers=lambda maps: maps,
    end=lambda total: total,
):
    """The right answer, and with one of its steps replaced a wrong one."""
    total = eye = torch.eye(maps.shape[-1])  # (T, T)
    for heads in layers(maps):
        matrix = divide(fuse(heads, dim=0) + identity * eye)  # (T, T)
        total = matrix @ total if later_first else total @ matrix
    return end(total)


def _by_wrong_sums(matrix):
    return matrix / matrix.sum(dim=-1)


def _by_column_sums(matrix):
    return matrix / matrix.sum(dim=-2, keepdim=True)


def _each_layer(maps):
    return torch.stack([flow(layer[None]) for layer in maps])  # (L, T, T)
