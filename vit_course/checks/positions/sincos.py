"""Exercise positions.sincos: a sine-cosine table for a grid."""

import math

import torch
import torch.nn.functional as F

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, one_mistake, same_function
from vit_course.checks.tools.slips import slips
from vit_course.checks.tools.usual import usual_slips
from vit_course.embeddings import sincos2d

# Of the four quarters of a row, which are right as they come: sine and cosine of the column, then of the row.
_ORDERS = [
    ((2, 3, 0, 1), "axes-exchanged",
     "The first half of the numbers goes by the row and the second half by the column."),
    ((1, 0, 3, 2), "cosine-first", "In each half the cosines come before the sines."),
    ((0, 2, 1, 3), "all-sines-first",
     "All sines come before all cosines, so no half of the numbers belongs to one axis."),
    ((2, 0, 3, 1), "all-sines-first", "All sines come before all cosines, and the row before the column."),
    ((3, 2, 1, 0), "cosine-first-and-axes-exchanged",
     "The row comes before the column, and in each half the cosines before the sines."),
]  # fmt: skip


@exercise(
    "3.4", "A sine-cosine table for a grid", section="Build it: a table without training", difficulty=3, minutes=15
)
def sincos(answer, draw):
    """`answer(grid, hidden_dim)`: (rows, columns), D -> (N, D), sin and cos of the column, then of the row."""
    # At least 3 frequencies: with 2, equal ratios and equal steps are the same.
    draws = [((rows, columns), 4 * hands) for rows, columns, hands in (draw.sizes(3, low=3), draw.sizes(3, low=3))]
    # One row, one column and one patch: an axis of length 1 is an axis.
    draws += [((1, 5), 12), ((4, 1), 16), ((1, 1), 12)]

    def quarters(grid, width, **options):
        column, row = _angles(grid, width // 4, **options)
        return column.sin(), column.cos(), row.sin(), row.cos()

    def joined(grid, width, order=(0, 1, 2, 3), **options):
        parts = quarters(grid, width, **options)
        return torch.cat([parts[index] for index in order], dim=1)

    def interleaved(grid, width):
        a, b, c, d = quarters(grid, width)
        return torch.cat([torch.stack([a, b], dim=2).flatten(1), torch.stack([c, d], dim=2).flatten(1)], dim=1)

    def axes_added(grid, width):
        a, b, c, d = quarters(grid, 2 * width)
        return torch.cat([a, b], dim=1) + torch.cat([c, d], dim=1)

    def axes_multiplied(grid, width):
        a, b, c, d = quarters(grid, 2 * width)
        return torch.cat([a, b], dim=1) * torch.cat([c, d], dim=1)

    def places(column, row):
        def table(grid, width):
            patch, frequencies = torch.arange(grid[0] * grid[1]), 10_000 ** -torch.linspace(0, 1, width // 4)
            x, y = (place(patch, *grid)[:, None] * frequencies for place in (column, row))
            return torch.cat([x.sin(), x.cos(), y.sin(), y.cos()], dim=1)

        return table

    def column_of(n, rows, columns):
        return n % columns

    def row_of(n, rows, columns):
        return n // columns

    same_function(
        answer,
        sincos2d,
        draws,
        axes="(N, D)",
        mistakes=[
            *slips(joined, {"order": _ORDERS}),
            Mistake(
                "column-by-column",
                "The table runs down the columns of the grid; the patches run along its rows.",
                lambda grid, width: sincos2d(grid, width).unflatten(0, grid).transpose(0, 1).flatten(0, 1),
            ),
            Mistake(
                "broken-at-the-wrong-place",
                "A line of the grid ends after as many patches as the grid has rows.",
                lambda grid, width: joined(grid, width, line=grid[0]),
            ),
            *one_mistake(
                "one-half-turned",
                "Sines and cosines are in order in one half and the other way round in the other.",
                lambda grid, width: joined(grid, width, order=(0, 1, 3, 2)),
                lambda grid, width: joined(grid, width, order=(1, 0, 2, 3)),
            ),
            *one_mistake(
                "one-axis-twice",
                "Both halves go by the same axis.",
                lambda grid, width: joined(grid, width, order=(0, 1, 0, 1)),
                lambda grid, width: joined(grid, width, order=(2, 3, 2, 3)),
            ),
            *one_mistake(
                "one-half-only",
                "The table is half as wide as asked for: one of its parts is missing.",
                lambda grid, width: joined(grid, width, order=(0, 1)),
                lambda grid, width: joined(grid, width, order=(2, 3)),
                lambda grid, width: joined(grid, width, order=(0, 2)),
                lambda grid, width: joined(grid, width, order=(1, 3)),
            ),
            *one_mistake(
                "number-of-frequencies",
                "The table is too wide or too narrow, because there are not D/4 frequencies for an axis.",
                lambda grid, width: sincos2d(grid, 2 * width),
                lambda grid, width: joined(grid, width // 2),
                lambda grid, width: sincos2d(grid, 4 * width),
            ),
            Mistake(
                "all-four-interleaved",
                "Sine and cosine of column and row alternate from number to number.",
                lambda grid, width: torch.stack(quarters(grid, width), dim=2).flatten(1),
            ),
            Mistake(
                "sin-cos-interleaved",
                "Sines and cosines alternate from number to number.",
                interleaved,
            ),
            Mistake(
                "no-cosines",
                "There are twice as many sines of each axis, and no cosines.",
                lambda grid, width: torch.cat(quarters(grid, 2 * width)[::2], dim=1),
            ),
            Mistake(
                "no-cosines",
                "The sines stand where the cosines belong too, so every number is there twice.",
                lambda grid, width: joined(grid, width, order=(0, 0, 2, 2)),
            ),
            Mistake(
                "slowest-too-fast",
                "The frequencies stop one step early: the slowest is faster than 1/10,000.",
                lambda grid, width: joined(grid, width, exponents=lambda hands: torch.arange(hands) / hands),
            ),
            *one_mistake(
                "slowest-too-fast",
                "The frequencies do not reach 1/10,000: the exponent is divided by the width or by half of it.",
                lambda grid, width: joined(grid, width, exponents=lambda hands: torch.arange(hands) / (2 * hands)),
                lambda grid, width: joined(grid, width, exponents=lambda hands: torch.arange(hands) / (4 * hands)),
            ),
            *one_mistake(
                "fastest-too-slow",
                "The frequencies begin one step late: the fastest is slower than 1.",
                lambda grid, width: joined(grid, width, exponents=lambda hands: (torch.arange(hands) + 1) / hands),
            ),
            *one_mistake(
                "frequencies-backwards",
                "The frequencies are right and run from the slowest to the fastest.",
                lambda grid, width: joined(grid, width, exponents=lambda hands: torch.linspace(1, 0, hands)),
            ),
            *one_mistake(
                "another-slowest",
                "The frequencies fall in equal ratios from 1, and the slowest is not 1/10,000.",
                *(
                    lambda grid, width, slowest=slowest: joined(
                        grid, width, frequencies=torch.logspace(0, slowest, width // 4)
                    )
                    for slowest in (-1, -2, -3, -5, -6, -4 / math.log(10), -4 * math.log10(2))
                ),
            ),
            *one_mistake(
                "angles-in-another-unit",
                "The angles are multiplied by a number: by two pi, by pi or by what turns degrees into radians.",
                *(
                    lambda grid, width, unit=unit: joined(
                        grid, width, frequencies=unit * 10_000 ** -torch.linspace(0, 1, width // 4)
                    )
                    for unit in (2 * math.pi, math.pi, math.pi / 180)
                ),
            ),
            *one_mistake(
                "places-from-0-to-1",
                "The places are divided by the length of the grid, so they are no longer 0, 1, 2 and so on.",
                places(lambda n, r, c: n % c / (c - 1), lambda n, r, c: n // c / (r - 1)),
                places(lambda n, r, c: n % c / c, lambda n, r, c: n // c / r),
            ),
            Mistake(
                "places-from-the-middle",
                "The places are counted from the middle of the grid, not from 0.",
                places(lambda n, r, c: n % c - (c - 1) / 2, lambda n, r, c: n // c - (r - 1) / 2),
            ),
            Mistake(
                "row-not-whole",
                "The row is no whole number: it grows from patch to patch.",
                places(column_of, lambda n, r, c: n / c),
            ),
            *one_mistake(
                "rows-for-columns",
                "For one of the two axes, the number of rows is taken for the number of columns.",
                places(column_of, lambda n, r, c: n // r),
                places(lambda n, r, c: n % r, row_of),
            ),
            Mistake(
                "patch-number-as-place",
                "The number of the patch is taken for its column and for its row.",
                places(lambda n, r, c: n, lambda n, r, c: n),
            ),
            *one_mistake(
                "square-assumed",
                "The grid is taken to be square.",
                lambda grid, width: sincos2d((grid[0], grid[0]), width),
                lambda grid, width: sincos2d((grid[1], grid[1]), width),
                places(lambda n, r, c: n % int((r * c) ** 0.5), lambda n, r, c: n // int((r * c) ** 0.5)),
            ),
            *one_mistake(
                "no-sine-no-cosine",
                "These are the angles themselves, without sine and cosine.",
                lambda grid, width: torch.cat([angle for angle in _angles(grid, width // 4) for _ in range(2)], dim=1),
                lambda grid, width: torch.cat(_angles(grid, width // 2), dim=1),
            ),
            Mistake(
                "equal-steps",
                "The frequencies fall in equal steps, so nearly all hands are fast.",
                lambda grid, width: joined(grid, width, frequencies=torch.linspace(1, 1e-4, width // 4)),
            ),
            Mistake(
                "frequencies-rise",
                "The frequencies rise from 1 to 10,000, so neighbouring patches get unrelated vectors.",
                lambda grid, width: joined(grid, width, exponents=lambda hands: -torch.linspace(0, 1, hands)),
            ),
            Mistake(
                "places-from-one",
                "Rows and columns are counted from 1.",
                lambda grid, width: joined(grid, width, first=1),
            ),
            Mistake(
                "one-dimensional",
                "The patches are numbered along the sequence: this table does not know that the grid has two axes.",
                lambda grid, width: torch.cat(quarters((1, grid[0] * grid[1]), 2 * width)[:2], dim=1),
            ),
            Mistake(
                "axes-added",
                "The vector of the row is added to that of the column, so all numbers hold both axes at once.",
                axes_added,
            ),
            Mistake(
                "axes-multiplied",
                "The vector of the row is multiplied with that of the column, so all numbers hold both axes at once.",
                axes_multiplied,
            ),
            Mistake(
                "grid-not-flattened",
                "The values are right, but they still lie on the grid: there is an axis too many.",
                lambda grid, width: sincos2d(grid, width).unflatten(0, grid),
            ),
            Mistake(
                "class-row-included",
                "There is a row for a class token in front; the table asked for has rows for the patches alone.",
                lambda grid, width: F.pad(sincos2d(grid, width), (0, 0, 1, 0)),
            ),
            *usual_slips(answer, sincos2d, draws, "patch"),
        ],
    )


def _angles(grid, hands, line=None, first=0, exponents=None, frequencies=None):
    # (N, hands) by column and by row; the options are the mistakes.
    patch = torch.arange(grid[0] * grid[1])
    line = line or grid[1]
    if frequencies is None:
        frequencies = 10_000 ** -(exponents(hands) if exponents else torch.linspace(0, 1, hands))
    return (patch % line + first)[:, None] * frequencies, (patch // line + first)[:, None] * frequencies
