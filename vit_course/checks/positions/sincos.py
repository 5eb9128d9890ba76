"""Exercise positions.sincos: a sine-cosine table for a grid."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.table import table
from vit_course.embeddings import sincos2d


@exercise(
    "3.4", "A sine-cosine table for a grid", section="Build it: a table without training", difficulty=3, minutes=15
)
def sincos(answer, draw):
    """`answer(grid, hidden_dim)`: (rows, columns), D -> (N, D), sin and cos of the column, then of the row."""
    # At least 3 frequencies: with 2, equal ratios and equal steps are the same.
    draws = [((rows, columns), 4 * hands) for rows, columns, hands in (draw.sizes(3, low=3), draw.sizes(3, low=3))]
    # One row, one column and one patch: an axis of length 1 is an axis.
    draws += [((1, 5), 12), ((4, 1), 16), ((1, 1), 12)]

    same_function(answer, sincos2d, draws, axes="(N, D)", mistakes=table(__name__, "mistakes", _joined))


def _angles(grid, hands, line=None, first=0, exponents=None, frequencies=None):
    # (N, hands) by column and by row; the options are the mistakes.
    patch = torch.arange(grid[0] * grid[1])
    line = line or grid[1]
    if frequencies is None:
        frequencies = 10_000 ** -(exponents(hands) if exponents else torch.linspace(0, 1, hands))
    return (patch % line + first)[:, None] * frequencies, (patch // line + first)[:, None] * frequencies


# Of the four quarters of a row the right order is sine and cosine of the column, then of the row.
def _quarters(grid, width, **options):
    column, row = _angles(grid, width // 4, **options)
    return column.sin(), column.cos(), row.sin(), row.cos()


def _joined(grid, width, order=(0, 1, 2, 3), **options):
    parts = _quarters(grid, width, **options)
    return torch.cat([parts[index] for index in order], dim=1)


def _interleaved(grid, width):
    a, b, c, d = _quarters(grid, width)
    return torch.cat([torch.stack([a, b], dim=2).flatten(1), torch.stack([c, d], dim=2).flatten(1)], dim=1)


def _axes_added(grid, width):
    a, b, c, d = _quarters(grid, 2 * width)
    return torch.cat([a, b], dim=1) + torch.cat([c, d], dim=1)


def _axes_multiplied(grid, width):
    a, b, c, d = _quarters(grid, 2 * width)
    return torch.cat([a, b], dim=1) * torch.cat([c, d], dim=1)


def _places(column, row):
    def table(grid, width):
        patch, frequencies = torch.arange(grid[0] * grid[1]), 10_000 ** -torch.linspace(0, 1, width // 4)
        x, y = (place(patch, *grid)[:, None] * frequencies for place in (column, row))
        return torch.cat([x.sin(), x.cos(), y.sin(), y.cos()], dim=1)

    return table


def _column_of(n, rows, columns):
    return n % columns


def _row_of(n, rows, columns):
    return n // columns
