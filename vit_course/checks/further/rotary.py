"""Exercise further.rotary: queries and keys turned by row and column."""

import math

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, table
from vit_course.checks.tools.tensors import equal


@exercise("11.5", "Turned by row and column", section="Rotary positions: where, as an angle", difficulty=3, minutes=12)
def rotary(answer, draw):
    """`answer(x, grid)`: (B, h, N, d), (rows, columns) -> (B, h, N, d)."""
    draws = []
    for grids in (((2, 8), (8, 2)), ((4, 9), (9, 4))):
        # As many patches as a square grid has, so that a grid taken for square shows; no other size is like these.
        (batch, heads, quarter), (rows, columns) = draw.sizes(3, 5, 7), draw.choose(grids)
        draws.append((draw.normal(batch, heads, rows * columns, 8 * quarter), (rows, columns)))
    with named_by_details(*known(__name__, "errors")):
        same_function(answer, _turn_grid, draws, table(__name__, "turns"), axes="(B, h, N, d)")
    x, grid = draws[0]
    try:
        equal(call(answer, x, list(grid)), _turn_grid(x, grid), axes="(B, h, N, d)")
    except Wrong as wrong:
        details = ["Input:    grid as a list", *wrong.details]
        raise Wrong("list-not-taken", "Right for a grid given as a tuple, not for a list.", details) from None


def _turn_line(x: torch.Tensor, positions: torch.Tensor, width: int | None = None, sign: int = 1) -> torch.Tensor:
    d = x.shape[-1]
    angles = sign * positions[:, None] * 100.0 ** (-torch.arange(0, d, 2) / (width or d))  # (T, d / 2)
    a, b = x[..., 0::2], x[..., 1::2]  # (..., T, d / 2)
    turned = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return torch.stack(turned, dim=-1).flatten(-2)  # (..., T, d)


def _turn_grid(x, grid, places=None, order=(0, 1), **how):
    rows, columns = grid
    if places is None:
        n = torch.arange(rows * columns)  # (N,)
        places = n // columns, n % columns
    pieces = x.chunk(2, dim=-1)  # 2 x (B, h, N, d / 2)
    turned = [_turn_line(piece, places[place], **how) for piece, place in zip(pieces, order, strict=True)]
    return torch.cat(turned, dim=-1)


def _places(rows: int, columns: int, kind: str):
    n = torch.arange(rows * columns)
    before = (n - 1).clamp(min=0)
    return {
        "from-one": (n // columns + 1, n % columns + 1),
        "columns-first": (n % rows, n // rows),
        "rows-and-columns-exchanged": (n // rows, n % rows),
        "shares": ((n // columns) / rows, (n % columns) / columns),
        "from-0-to-1": ((n // columns) / (rows - 1), (n % columns) / (columns - 1)),
        "centred": (n // columns - rows // 2, n % columns - columns // 2),
        "centred-between": (n // columns - (rows - 1) / 2, n % columns - (columns - 1) / 2),
        "row-not-whole": (n / columns, n % columns),
        "row-by-rows": (n // rows, n % columns),
        "column-by-rows": (n // columns, n % rows),
        "column-not-wrapped": (n // columns, n),
        "row-not-divided": (n, n % columns),
        "square": (n // math.isqrt(len(n)), n % math.isqrt(len(n))),
        "upside-down": (rows - 1 - n // columns, n % columns),
        "mirrored": (n // columns, columns - 1 - n % columns),
        "rows-repeated": (n % rows, n % columns),
        "product": ((n // columns) * (n % columns),) * 2,
        "class-token": (before // columns, before % columns),
        "minus-one": ((n - 1) // columns, (n - 1) % columns),
    }[kind]


def _interleaved(x, grid):
    rows, columns = grid
    n = torch.arange(rows * columns)
    turned = _turn_line(x[..., 0::2], n // columns), _turn_line(x[..., 1::2], n % columns)
    return torch.stack(turned, dim=-1).flatten(-2)


def _by_both(x, grid):
    rows, columns = grid
    n = torch.arange(rows * columns)
    return _turn_line(_turn_line(x, n // columns), n % columns)


def _by(grid):
    n = torch.arange(grid[0] * grid[1])
    return n // grid[1], n % grid[1]


def _halves_of_the_whole(x, grid):
    by_row, by_column = (_turn_line(x, place).chunk(2, -1)[half] for half, place in enumerate(_by(grid)))
    return torch.cat([by_row, by_column], -1)


def _tokens_split(x, grid):
    half = x.shape[2] // 2
    row, column = _by(grid)
    return torch.cat([_turn_line(x[:, :, :half], row[:half]), _turn_line(x[:, :, half:], column[half:])], 2)


def _quarters(x, grid):
    return torch.cat([_turn_line(part, _by(grid)[i % 2]) for i, part in enumerate(x.chunk(4, -1))], -1)
