"""Exercise further.rotary: queries and keys turned by row and column."""

import math

import torch

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Known, Mistake, named_by_details


def rotary(answer, draw):
    """`answer(x, grid)`: (B, h, N, d), (rows, columns) -> (B, h, N, d)."""
    draws = []
    for eighth, grids in zip(draw.sizes(2, 5, 7), (((2, 8), (8, 2)), ((4, 9), (9, 4))), strict=True):
        # As many patches as a square grid has, so that a grid taken for square shows; no other size is like these.
        (batch, heads), (rows, columns) = draw.sizes(2, 5, 7), draw.choose(grids)
        draws.append((draw.normal(batch, heads, rows * columns, 8 * eighth), (rows, columns)))
    with named_by_details(*ERRORS):
        same_function(answer, turn_grid, draws, MISTAKES, axes="(B, h, N, d)")


def turn_grid(
    x,
    grid,
    places=lambda n, rows, columns: (n // columns, n % columns),
    cut=lambda x: x.chunk(2, dim=-1),
    line=lambda x, positions: turn_line(x, positions),
    join=lambda halves: torch.cat(halves, dim=-1),
):
    """The right vectors, and with one of the steps replaced wrong ones."""
    first, last = cut(x)  # (B, h, N, d / 2) both
    row, column = places(torch.arange(x.shape[2]), *grid)  # (N,) both
    return join([line(first, row), line(last, column)])


def turn_line(x, positions, width=None, base=100.0):
    """(..., T, d), (T,) -> (..., T, d); `width` is that of the vectors for which the rates are computed."""
    d = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, d, 2) / (width or d))  # (T, d / 2)
    a, b = x[..., 0::2], x[..., 1::2]  # (..., T, d / 2)
    turned = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return torch.stack(turned, dim=-1).flatten(-2)


def _turn_halves(x, positions):
    """As `turn_line`, but a pair is two numbers that stand half a vector apart."""
    neighbours = x.unflatten(-1, (2, -1)).mT.flatten(-2)
    return turn_line(neighbours, positions).unflatten(-1, (-1, 2)).mT.flatten(-2)


def _every_second(x):
    return x[..., 0::2], x[..., 1::2]


def _alternate(halves):
    return torch.stack(halves, dim=-1).flatten(-2)


def _turn_whole(x, grid):
    """The whole vectors turned by the row, and by the column."""
    n = torch.arange(x.shape[2])
    return turn_line(x, n // grid[1]), turn_line(x, n % grid[1])


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

MISTAKES = [
    Mistake(
        "row-and-column-swapped",
        "The first half is turned by the column and the second half by the row.",
        {"places": lambda n, rows, columns: (n % columns, n // columns)},
    ),
    Mistake(
        "both-halves-on-a-line",
        "Each half is turned by the index of the patch; row and column are not used.",
        {"places": lambda n, rows, columns: (n, n)},
    ),
    Mistake(
        "row-alone",
        "Both halves are turned by the row, so patches in the same row cannot be told apart.",
        {"places": lambda n, rows, columns: (n // columns, n // columns)},
    ),
    Mistake(
        "down-the-columns",
        "The tokens are treated as if they came column by column, but they come row by row.",
        {"places": lambda n, rows, columns: (n % rows, n // rows)},
    ),
    Mistake(
        "divided-by-rows",
        "Rows and columns are computed by dividing by the number of rows, as if a row had that many patches.",
        {"places": lambda n, rows, columns: (n // rows, n % rows)},
    ),
    Mistake(
        "row-by-rows",
        "The row is computed by dividing by the number of rows.",
        {"places": lambda n, rows, columns: (n // rows, n % columns)},
    ),
    Mistake(
        "counted-from-one",
        "Rows and columns are counted from 1.",
        {"places": lambda n, rows, columns: (n // columns + 1, n % columns + 1)},
    ),
    Mistake(
        "counted-from-one",
        "The rows are counted from 1.",
        {"places": lambda n, rows, columns: (n // columns + 1, n % columns)},
    ),
    Mistake(
        "counted-from-one",
        "The columns are counted from 1.",
        {"places": lambda n, rows, columns: (n // columns, n % columns + 1)},
    ),
    Mistake(
        "counted-from-the-middle",
        "Rows and columns are counted from the middle of the grid.",
        {"places": lambda n, rows, columns: (n // columns - rows // 2, n % columns - columns // 2)},
        {"places": lambda n, rows, columns: (n // columns - (rows - 1) / 2, n % columns - (columns - 1) / 2)},
    ),
    Mistake(
        "shares-of-the-grid",
        "The positions run from 0 to 1 over the grid, so the length of one step depends on the size of the image.",
        {"places": lambda n, rows, columns: (n // columns / rows, n % columns / columns)},
        {"places": lambda n, rows, columns: (n // columns / (rows - 1), n % columns / (columns - 1))},
    ),
    Mistake(
        "grid-taken-for-square",
        "The sides are computed as the square root of N, as if every grid were square.",
        {"places": lambda n, rows, columns: (n // math.isqrt(len(n)), n % math.isqrt(len(n)))},
    ),
    Mistake(
        "turned-backwards",
        "Every vector is turned in the wrong direction.",
        {"line": lambda x, positions: turn_line(x, -positions)},
    ),
    Mistake(
        "rates-of-the-whole",
        "The rates are computed for a vector of d numbers but used on half of it.",
        {"line": lambda x, positions: turn_line(x, positions, width=2 * x.shape[-1])},
    ),
    Mistake(
        "another-base",
        "The slowest pairs turn at a rate near 1 / 10000, as in language models; in `turn_line` it is near 1 / 100.",
        {"line": lambda x, positions: turn_line(x, positions, base=10_000.0)},
    ),
    Mistake(
        "halves-paired",
        "Each number is paired with the one half a vector away, as in LLaMA; `turn_line` pairs neighbours.",
        {"line": _turn_halves},
    ),
    Mistake(
        "halves-exchanged",
        "The two halves are joined in the wrong order.",
        {"join": lambda halves: torch.cat(halves[::-1], dim=-1)},
    ),
    Mistake(
        "halves-alternate",
        "The numbers of the two turned halves alternate; the halves are not joined one after the other.",
        {"join": _alternate},
    ),
    Mistake(
        "every-second-number",
        "Row and column each get every second number; each should get one half of consecutive numbers.",
        {"cut": _every_second},
        {"cut": _every_second, "join": _alternate},
    ),
    Mistake(
        "on-a-line",
        "The patches are turned as if they lay on one line: the end of a row is next to the start of the next one.",
        lambda x, grid: turn_line(x, torch.arange(x.shape[2])),
    ),
    Mistake(
        "turned-twice",
        "The whole vector is turned by the row and by the column, so the two angles add up.",
        lambda x, grid: _turn_whole(_turn_whole(x, grid)[0], grid)[1],
    ),
    Mistake(
        "rates-of-the-whole",
        "The whole vector is turned by row and by column, and half of each is kept: the rates are those for d numbers.",
        lambda x, grid: torch.cat(
            [_turn_whole(x, grid)[0].chunk(2, dim=-1)[0], _turn_whole(x, grid)[1].chunk(2, dim=-1)[1]], dim=-1
        ),
    ),
    Mistake(
        "one-half-left",
        "Only one half is turned; the other comes back unchanged.",
        lambda x, grid: torch.cat([turn_grid(x, grid).chunk(2, dim=-1)[0], x.chunk(2, dim=-1)[1]], dim=-1),
        lambda x, grid: torch.cat([x.chunk(2, dim=-1)[0], turn_grid(x, grid).chunk(2, dim=-1)[1]], dim=-1),
    ),
    Mistake("not-turned", "The vectors come back unchanged.", lambda x, grid: x),
]
