"""Exercise further.rotary: queries and keys turned by row and column."""

import math

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.checks.tools.slips import Known, named_by_details
from vit_course.checks.tools.tensors import equal


@exercise("11.5", "Turned by row and column", section="Rotary positions: where, as an angle", difficulty=3, minutes=12)
def rotary(answer, draw):
    """`answer(x, grid)`: (B, h, N, d), (rows, columns) -> (B, h, N, d)."""
    draws = []
    for grids in (((2, 8), (8, 2)), ((4, 9), (9, 4))):
        # As many patches as a square grid has, so that a grid taken for square shows; no other size is like these.
        (batch, heads, quarter), (rows, columns) = draw.sizes(3, 5, 7), draw.choose(grids)
        draws.append((draw.normal(batch, heads, rows * columns, 8 * quarter), (rows, columns)))
    with named_by_details(
        Known(
            r"must match the size|must match|broadcast",
            "not-a-position-a-token",
            "There are not as many tokens as positions, or not as many angles as pairs: each token needs one position.",
        ),
        Known(r"Received: \(\d+, \d+, \d+, \d+\)$", "joined-on-another-axis",
              "An axis has another length than it had: two halves of d / 2 numbers make d again, all else stays."),
    ):  # fmt: skip
        same_function(answer, _turn_grid, draws, _TURNS, axes="(B, h, N, d)")
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
        "All of the vector is turned by the row and by the column: the two angles add up.",
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
        "counted-from-one-and-swapped",
        "Two things are wrong. Rows and columns are counted from 1. And the first half is turned by the column.",
        lambda x, grid: _turn_grid(x, grid, places=_places(*grid, "from-one"), order=(1, 0)),
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
    *(
        Mistake(slug, sentence, lambda x, grid, kind=kind: _turn_grid(x, grid, places=_places(*grid, kind)))
        for kind, slug, sentence in (
            ("row-not-whole", "row-not-whole", "The row is not a whole number: it grows from patch to patch."),
            ("row-by-rows", "row-by-rows", "The row is counted by dividing by the number of rows."),
            ("column-by-rows", "column-by-rows", "The column is what is left after dividing by the number of rows."),
            ("column-not-wrapped", "column-not-wrapped", "The last half is turned by the number of the patch, which "
             "goes on counting from row to row."),
            ("row-not-divided", "row-not-divided", "The first half is turned by the number of the patch, which grows "
             "within a row."),
            ("rows-repeated", "rows-repeated", "The rows 0, 1, 2 repeat from patch to patch, where a whole row of "
             "patches has the same."),
            ("square", "grid-taken-for-square", "The sides are the root of N, as if every grid were square."),
            ("from-0-to-1", "shares-of-the-grid", "The places run from 0 to 1 over the grid: what one step means "
             "depends on the size of the image."),
            ("centred", "counted-from-the-middle", "Rows and columns are counted from the middle of the grid."),
            ("centred-between", "counted-from-the-middle", "Rows and columns are counted from the middle of the grid."),
            ("upside-down", "upside-down", "The rows are counted from below."),
            ("mirrored", "mirrored", "The columns are counted from the right."),
            ("class-token", "room-for-a-class-token", "The first patch is taken for a class token, so the places of "
             "all others are those of the patch before."),
            ("minus-one", "room-for-a-class-token", "The first patch is taken for a class token, so the places of all "
             "others are those of the patch before."),
            ("product", "product-of-places", "Both halves are turned by the product of row and column."),
        )
    ),
    *(
        Mistake(slug, sentence, function)
        for slug, sentence, function in (
            ("one-half-left", "Only the first half is turned; the last comes back as it went in.",
             lambda x, grid: torch.cat([_turn_grid(x, grid).chunk(2, -1)[0], x.chunk(2, -1)[1]], -1)),
            ("one-half-left", "Only the last half is turned; the first comes back as it went in.",
             lambda x, grid: torch.cat([x.chunk(2, -1)[0], _turn_grid(x, grid).chunk(2, -1)[1]], -1)),
            ("rates-of-the-whole", "All of the vector is turned by each place and a half of each result taken: the "
             "rates are those of d numbers.", _halves_of_the_whole),
            ("product-of-places", "All of the vector is turned by the product of row and column.",
             lambda x, grid: _turn_line(x, _places(*grid, "product")[0])),
            ("turns-added", "The vectors turned by the row and those turned by the column are added up.",
             lambda x, grid: _turn_line(x, _by(grid)[0]) + _turn_line(x, _by(grid)[1])),
            ("halves-alternate", "The turned halves are put together number by number, not one behind the other.",
             lambda x, grid: torch.stack(_turn_grid(x, grid).chunk(2, -1), -1).flatten(-2)),
            ("every-second-number", "Row and column have every second number each, where each has a half that hangs "
             "together.", lambda x, grid: torch.cat([_turn_line(x[..., ::2], _by(grid)[0]),
                                                     _turn_line(x[..., 1::2], _by(grid)[1])], -1)),
            ("halves-stacked", "The two turned halves lie on an axis of their own; they make d numbers again.",
             lambda x, grid: torch.stack(_turn_grid(x, grid).chunk(2, -1), -1)),
            ("halves-stacked", "The two turned halves lie on an axis of their own; they make d numbers again.",
             lambda x, grid: torch.stack(_turn_grid(x, grid).chunk(2, -1), -2)),
            ("heads-split", "Half of the heads is turned by the row and half by the column; each head needs both.",
             lambda x, grid: torch.cat([_turn_line(part, place) for part, place in zip(
                 x.tensor_split([x.shape[1] // 2], 1), _by(grid), strict=True)], 1)),
            ("tokens-split", "The first half of the tokens is turned by the row and the last by the column.",
             _tokens_split),
            ("scaled", "The vectors are divided by the root of d: the scale belongs to the scores.",
             lambda x, grid: _turn_grid(x, grid) / x.shape[-1] ** 0.5),
            ("added-to-the-vector", "The turned vectors are added to those that came in.",
             lambda x, grid: x + _turn_grid(x, grid)),
            ("quarters", "Row and column have two quarters each, in turn, where each has one half.", _quarters),
        )
    ),
]  # fmt: skip
