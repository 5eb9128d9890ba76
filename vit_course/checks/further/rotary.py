"""Exercise further.rotary: queries and keys turned by row and column."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.checks.tools.tensors import equal


@exercise("Turned by row and column", section="Rotary positions: where, as an angle", difficulty=3, minutes=12)
def rotary(answer, draw):
    """`answer(x, grid)`: (B, h, N, d), (rows, columns) -> (B, h, N, d)."""
    draws = []
    for _ in range(2):
        batch, heads, rows, columns, quarter = draw.sizes(5, low=3, high=8)
        draws.append((draw.normal(batch, heads, rows * columns, 4 * quarter), (rows, columns)))
    same_function(answer, _turn_grid, draws, _TURNS, axes="(B, h, N, d)")
    x, grid = draws[0]
    equal(call(answer, x, list(grid)), _turn_grid(x, grid), axes="(B, h, N, d)")


def _turn_line(x: torch.Tensor, positions: torch.Tensor, width: int | None = None, sign: int = 1) -> torch.Tensor:
    d = x.shape[-1]
    angles = sign * positions[:, None] * 100.0 ** (-torch.arange(0, d, 2) / (width or d))  # (T, d / 2)
    a, b = x[..., 0::2], x[..., 1::2]  # (..., T, d / 2)
    turned = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return torch.stack(turned, dim=-1).flatten(-2)  # (..., T, d)


def _turn_grid(x, grid, places=None, halves=(0, 1), order=(0, 1), **how):
    rows, columns = grid
    if places is None:
        n = torch.arange(rows * columns)  # (N,)
        places = n // columns, n % columns
    pieces = x.chunk(2, dim=-1)  # 2 x (B, h, N, d / 2)
    turned = [_turn_line(pieces[half], places[place], **how) for half, place in zip(halves, order, strict=True)]
    return torch.cat(turned, dim=-1)


def _places(rows: int, columns: int, kind: str):
    n = torch.arange(rows * columns)
    return {
        "from-one": (n // columns + 1, n % columns + 1),
        "columns-first": (n % rows, n // rows),
        "rows-and-columns-exchanged": (n // rows, n % rows),
        "shares": ((n // columns) / rows, (n % columns) / columns),
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


_TURNS = [
    Mistake(
        "row-and-column-swapped",
        "The first half is turned by the column and the last by the row.",
        lambda x, grid: _turn_grid(x, grid, order=(1, 0)),
    ),
    Mistake(
        "on-a-line",
        "The patches are turned as if they lay on one line: the end of a row is next to the start of the next one.",
        lambda x, grid: _turn_line(x, torch.arange(x.shape[-2])),
    ),
    Mistake(
        "both-halves-on-a-line",
        "Each half is turned by the number of the patch, and neither row nor column has a part in it.",
        lambda x, grid: _turn_grid(x, grid, places=(torch.arange(x.shape[-2]),) * 2),
    ),
    Mistake(
        "row-alone",
        "Both halves are turned by the row: patches of one row cannot be told apart.",
        lambda x, grid: _turn_grid(x, grid, order=(0, 0)),
    ),
    Mistake(
        "column-alone",
        "Both halves are turned by the column: patches of one column cannot be told apart.",
        lambda x, grid: _turn_grid(x, grid, order=(1, 1)),
    ),
    Mistake(
        "row-on-everything",
        "All of the vector is turned by the row.",
        lambda x, grid: _turn_line(x, torch.arange(x.shape[-2]) // grid[1]),
    ),
    Mistake(
        "column-on-everything",
        "All of the vector is turned by the column.",
        lambda x, grid: _turn_line(x, torch.arange(x.shape[-2]) % grid[1]),
    ),
    Mistake(
        "turned-twice",
        "All of the vector is turned by the row and then by the column: the two angles add up.",
        _by_both,
    ),
    Mistake(
        "down-the-columns",
        "The tokens are taken column by column, and they come row by row.",
        lambda x, grid: _turn_grid(x, grid, places=_places(*grid, "columns-first")),
    ),
    Mistake(
        "divided-by-rows",
        "Rows and columns are counted by dividing by the number of rows, as if a row had that many patches.",
        lambda x, grid: _turn_grid(x, grid, places=_places(*grid, "rows-and-columns-exchanged")),
    ),
    Mistake(
        "counted-from-one",
        "Rows and columns are counted from 1.",
        lambda x, grid: _turn_grid(x, grid, places=_places(*grid, "from-one")),
    ),
    Mistake(
        "shares-of-the-grid",
        "The places run from 0 to 1 over the grid: what one step means depends on the size of the image.",
        lambda x, grid: _turn_grid(x, grid, places=_places(*grid, "shares")),
    ),
    Mistake(
        "every-second-number",
        "Row and column have every second number each, where each has a half that hangs together.",
        _interleaved,
    ),
    Mistake(
        "halves-exchanged",
        "The two halves are put together in the wrong order.",
        lambda x, grid: _turn_grid(x, grid).roll(x.shape[-1] // 2, dims=-1),
    ),
    Mistake(
        "rates-of-the-whole",
        "The rates are worked out for a vector of d numbers and used on half of it.",
        lambda x, grid: _turn_grid(x, grid, width=x.shape[-1]),
    ),
    Mistake(
        "turned-backwards",
        "Every vector is turned the other way round.",
        lambda x, grid: _turn_grid(x, grid, sign=-1),
    ),
    Mistake("not-turned", "The vectors come back as they went in.", lambda x, grid: x),
]
