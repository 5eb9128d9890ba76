"""Exercise further.rotary: queries and keys turned by row and column."""

import math

import torch

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Known, Slip, named_by_details, wrong_functions


def rotary(answer, draw):
    """`answer(x, grid)`: (B, h, N, d), (rows, columns) -> (B, h, N, d)."""
    draws = []
    for grids in (((2, 8), (8, 2)), ((4, 9), (9, 4))):
        # As many patches as a square grid has, so that a grid taken for square shows; no other size is like these.
        (batch, heads, quarter), (rows, columns) = draw.sizes(3, 5, 7), draw.choose(grids)
        draws.append((draw.normal(batch, heads, rows * columns, 8 * quarter), (rows, columns)))
    with named_by_details(*ERRORS):
        same_function(answer, _turn_grid, draws, wrong_functions(TURNS, _turn_grid), axes="(B, h, N, d)")


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


ERRORS = [
    Known(
        "must match the size|must match|broadcast",
        "not-a-position-a-token",
        "The numbers of tokens and positions differ, or those of angles and pairs: each token needs one position.",
    ),
    Known(
        r"Received: \(\d+, \d+, \d+, \d+\)$",
        "joined-on-another-axis",
        "One axis has the wrong length: two halves of d / 2 numbers make d again, and all other axes stay the same.",
    ),
]

TURNS = {
    "places": [
        Slip(
            "row-and-column-swapped",
            "The first half is turned by the column and the second half by the row.",
            lambda n, rows, columns: (n % columns, n // columns),
        ),
        Slip(
            "both-halves-on-a-line",
            "Each half is turned by the index of the patch; row and column are not used.",
            lambda n, rows, columns: (n, n),
        ),
        Slip(
            "row-alone",
            "Both halves are turned by the row, so patches in the same row cannot be told apart.",
            lambda n, rows, columns: (n // columns, n // columns),
        ),
        Slip(
            "column-alone",
            "Both halves are turned by the column, so patches in the same column cannot be told apart.",
            lambda n, rows, columns: (n % columns, n % columns),
        ),
        Slip(
            "down-the-columns",
            "The tokens are treated as if they came column by column, but they come row by row.",
            lambda n, rows, columns: (n % rows, n // rows),
        ),
        Slip(
            "divided-by-rows",
            "Rows and columns are computed by dividing by the number of rows, as if a row had that many patches.",
            lambda n, rows, columns: (n // rows, n % rows),
        ),
        Slip(
            "row-by-rows",
            "The row is computed by dividing by the number of rows.",
            lambda n, rows, columns: (n // rows, n % columns),
        ),
        Slip(
            "column-by-rows",
            "The column is the remainder after dividing by the number of rows.",
            lambda n, rows, columns: (n // columns, n % rows),
        ),
        Slip(
            "row-not-whole",
            "The row is not a whole number: it grows from patch to patch.",
            lambda n, rows, columns: (n / columns, n % columns),
        ),
        Slip(
            "column-not-wrapped",
            "The second half is turned by the index of the patch, which keeps growing from row to row.",
            lambda n, rows, columns: (n // columns, n),
        ),
        Slip(
            "row-not-divided",
            "The first half is turned by the index of the patch, which grows within a row.",
            lambda n, rows, columns: (n, n % columns),
        ),
        Slip(
            "rows-repeated",
            "The row changes from patch to patch, but all patches in a row have the same one.",
            lambda n, rows, columns: (n % rows, n % columns),
        ),
        Slip(
            "counted-from-one",
            "Rows and columns are counted from 1.",
            lambda n, rows, columns: (n // columns + 1, n % columns + 1),
        ),
        Slip(
            "counted-from-one",
            "The rows are counted from 1.",
            lambda n, rows, columns: (n // columns + 1, n % columns),
        ),
        Slip(
            "counted-from-one",
            "The columns are counted from 1.",
            lambda n, rows, columns: (n // columns, n % columns + 1),
        ),
        Slip(
            "patches-counted-from-one",
            "The patches are counted from 1 before they are divided into rows and columns.",
            lambda n, rows, columns: ((n + 1) // columns, (n + 1) % columns),
        ),
        Slip(
            "counted-from-one-and-swapped",
            "Two things are wrong. Rows and columns are counted from 1. The first half is turned by the column.",
            lambda n, rows, columns: (n % columns + 1, n // columns + 1),
        ),
        Slip(
            "counted-from-the-middle",
            "Rows and columns are counted from the middle of the grid.",
            lambda n, rows, columns: (n // columns - rows // 2, n % columns - columns // 2),
            lambda n, rows, columns: (n // columns - (rows - 1) / 2, n % columns - (columns - 1) / 2),
        ),
        Slip(
            "upside-down",
            "The rows are counted from the bottom.",
            lambda n, rows, columns: (rows - 1 - n // columns, n % columns),
        ),
        Slip(
            "mirrored",
            "The columns are counted from the right.",
            lambda n, rows, columns: (n // columns, columns - 1 - n % columns),
        ),
        Slip(
            "shares-of-the-grid",
            "The positions run from 0 to 1 over the grid, so the length of one step depends on the size of the image.",
            lambda n, rows, columns: (n // columns / rows, n % columns / columns),
            lambda n, rows, columns: (n // columns / (rows - 1), n % columns / (columns - 1)),
        ),
        Slip(
            "grid-taken-for-square",
            "The sides are computed as the square root of N, as if every grid were square.",
            lambda n, rows, columns: (n // math.isqrt(len(n)), n % math.isqrt(len(n))),
        ),
        Slip(
            "room-for-a-class-token",
            (
                "The first patch is treated as a class token, so every other patch has the position of the patch "
                "before it."
            ),
            lambda n, rows, columns: ((n - 1).clamp(min=0) // columns, (n - 1).clamp(min=0) % columns),
            lambda n, rows, columns: ((n - 1) // columns, (n - 1) % columns),
        ),
        Slip(
            "product-of-places",
            "Both halves are turned by the product of row and column.",
            lambda n, rows, columns: (n // columns * (n % columns),) * 2,
        ),
    ],
    "line": [
        Slip(
            "turned-backwards", "Every vector is turned in the wrong direction.", lambda x, place: _turn_line(x, -place)
        ),
        Slip(
            "rates-of-the-whole",
            "The rates are computed for a vector of d numbers but used on half of it.",
            lambda x, place: _turn_line(x, place, width=2 * x.shape[-1]),
        ),
        Slip(
            "another-base",
            (
                "The slowest pairs turn at a rate near 1 / 10000, as in language models; in `turn_line`, that "
                "rate is near 1 / 100."
            ),
            lambda x, place: _turn_line(x, place, base=10_000.0),
        ),
        Slip(
            "halves-paired",
            "Each number is paired with the one half a vector away, as in LLaMA; `turn_line` pairs neighbours.",
            lambda x, place: _turn_line(x, place, pairs=_far),
        ),
        Slip(
            "halves-paired-and-another-base",
            (
                "Two things are wrong. Each number is paired with the one half a vector away, as in LLaMA. The "
                "rates are those of LLaMA, not those of `turn_line`."
            ),
            lambda x, place: _turn_line(x, place, base=10_000.0, pairs=_far),
        ),
    ],
    "join": [
        Slip(
            "halves-exchanged",
            "The two halves are joined in the wrong order.",
            lambda parts: torch.cat(parts[::-1], dim=-1),
        ),
        Slip(
            "halves-alternate",
            "The numbers of the two turned halves alternate; the halves are not joined one after the other.",
            lambda parts: torch.stack(parts, dim=-1).flatten(-2),
        ),
        Slip(
            "halves-stacked",
            "The two turned halves are on a new axis; together they should make d numbers again.",
            lambda parts: torch.stack(parts, dim=-1),
            lambda parts: torch.stack(parts, dim=-2),
        ),
    ],
    "result": [
        Slip(
            "on-a-line",
            (
                "The patches are turned as if they lay on one line: the end of a row is next to the start of the "
                "next one."
            ),
            lambda x, grid: _turn_line(x, torch.arange(x.shape[2])),
        ),
        Slip(
            "row-on-everything", "The whole vector is turned by the row.", lambda x, grid: _turn_line(x, _by(grid)[0])
        ),
        Slip(
            "column-on-everything",
            "The whole vector is turned by the column.",
            lambda x, grid: _turn_line(x, _by(grid)[1]),
        ),
        Slip(
            "turned-twice",
            "The whole vector is turned by the row and by the column, so the two angles add up.",
            lambda x, grid: _turn_line(x, sum(_by(grid))),
        ),
        Slip(
            "product-of-places",
            "The whole vector is turned by the product of row and column.",
            lambda x, grid: _turn_line(x, math.prod(_by(grid))),
        ),
        Slip(
            "turns-added",
            "The vectors turned by the row and those turned by the column are added.",
            lambda x, grid: _turn_line(x, _by(grid)[0]) + _turn_line(x, _by(grid)[1]),
        ),
        Slip(
            "rates-of-the-whole",
            (
                "The whole vector is turned by row and by column, and half of each result is kept: the rates are "
                "those for d numbers."
            ),
            lambda x, grid: torch.cat(
                [_turn_line(x, place).chunk(2, -1)[half] for half, place in enumerate(_by(grid))], dim=-1
            ),
        ),
        Slip(
            "every-second-number",
            "Row and column each get every second number; each should get one half of consecutive numbers.",
            lambda x, grid: _turn_grid(x, grid, cut=lambda x: (x[..., ::2], x[..., 1::2])),
            lambda x, grid: _turn_grid(
                x,
                grid,
                cut=lambda x: (x[..., ::2], x[..., 1::2]),
                join=lambda parts: torch.stack(parts, -1).flatten(-2),
            ),
        ),
        Slip(
            "quarters",
            "Row and column each get two alternating quarters; each should get one half.",
            lambda x, grid: _turn_grid(
                x, grid, lambda n, rows, columns: (n // columns, n % columns) * 2, lambda x: x.chunk(4, dim=-1)
            ),
        ),
        Slip(
            "one-half-left",
            "Only one half is turned; the other comes back unchanged.",
            lambda x, grid: torch.cat([_turn_grid(x, grid).chunk(2, -1)[0], x.chunk(2, -1)[1]], dim=-1),
            lambda x, grid: torch.cat([x.chunk(2, -1)[0], _turn_grid(x, grid).chunk(2, -1)[1]], dim=-1),
        ),
        Slip("not-turned", "The vectors come back unchanged.", lambda x, grid: x),
        Slip(
            "added-to-the-vector",
            "The turned vectors are added to the input vectors.",
            lambda x, grid: x + _turn_grid(x, grid),
        ),
    ],
}
