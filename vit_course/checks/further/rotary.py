"""Exercise further.rotary: queries and keys turned by row and column."""

import torch

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, table


def rotary(answer, draw):
    """`answer(x, grid)`: (B, h, N, d), (rows, columns) -> (B, h, N, d)."""
    draws = []
    for grids in (((2, 8), (8, 2)), ((4, 9), (9, 4))):
        # As many patches as a square grid has, so that a grid taken for square shows; no other size is like these.
        (batch, heads, quarter), (rows, columns) = draw.sizes(3, 5, 7), draw.choose(grids)
        draws.append((draw.normal(batch, heads, rows * columns, 8 * quarter), (rows, columns)))
    with named_by_details(*known(__name__, "errors")):
        same_function(answer, _turn_grid, draws, table(__name__, "turns", _turn_grid), axes="(B, h, N, d)")


def _by(grid):
    n = torch.arange(grid[0] * grid[1])
    return n // grid[1], n % grid[1]  # (N,) each


def _turn_grid(
    x,
    grid,
    places=lambda n, rows, columns: (n // columns, n % columns),
    cut=lambda x: x.chunk(2, dim=-1),
    line=lambda x, place: _turn_line(x, place),
    join=lambda parts: torch.cat(parts, dim=-1),
):
    both = zip(cut(x), places(torch.arange(x.shape[2]), *grid), strict=True)
    return join([line(part, place) for part, place in both])


def _near(x):
    return x[..., 0::2], x[..., 1::2]


def _far(x):
    return x.chunk(2, dim=-1)


def _turn_line(x, positions, width=None, base=100.0, pairs=_near):
    d = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, d, 2) / (width or d))  # (T, d / 2)
    a, b = pairs(x)  # (..., T, d / 2)
    turned = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return torch.stack(turned, dim=-1).flatten(-2) if pairs is _near else torch.cat(turned, dim=-1)  # (..., T, d)
