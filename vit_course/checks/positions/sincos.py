"""Exercise positions.sincos: a sine-cosine table for a grid."""

import torch
import torch.nn.functional as F

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.embeddings import sincos2d


@exercise("A sine-cosine table for a grid", section="Build it: a table without training", difficulty=3, minutes=15)
def sincos(answer, draw):
    """`answer(grid, hidden_dim)`: (rows, columns), D -> (N, D), sin and cos of the column, then of the row."""
    # At least 3 frequencies: with 2, equal ratios and equal steps are the same.
    draws = [((rows, columns), 4 * hands) for rows, columns, hands in (draw.sizes(3, low=3), draw.sizes(3, low=3))]

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

    same_function(
        answer,
        sincos2d,
        draws,
        axes="(N, D)",
        mistakes=[
            Mistake(
                "axes-exchanged",
                "The first half of the numbers goes by the row and the second half by the column.",
                lambda grid, width: joined(grid, width, order=(2, 3, 0, 1)),
            ),
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
            Mistake(
                "cosine-first",
                "In each half the cosines come before the sines.",
                lambda grid, width: joined(grid, width, order=(1, 0, 3, 2)),
            ),
            Mistake(
                "all-sines-first",
                "All sines come before all cosines, so no half of the numbers belongs to one axis.",
                lambda grid, width: joined(grid, width, order=(0, 2, 1, 3)),
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
                "slowest-too-fast",
                "The frequencies stop one step early: the slowest is faster than 1/10,000.",
                lambda grid, width: joined(grid, width, exponents=lambda hands: torch.arange(hands) / hands),
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
                "grid-not-flattened",
                "The values are right, but they still lie on the grid: there is an axis too many.",
                lambda grid, width: sincos2d(grid, width).unflatten(0, grid),
            ),
            Mistake(
                "class-row-included",
                "There is a row for a class token in front; the table asked for has rows for the patches alone.",
                lambda grid, width: F.pad(sincos2d(grid, width), (0, 0, 1, 0)),
            ),
        ],
    )


def _angles(grid, hands, line=None, first=0, exponents=None, frequencies=None):
    # (N, hands) by column and by row; the options are the mistakes.
    patch = torch.arange(grid[0] * grid[1])
    line = line or grid[1]
    if frequencies is None:
        frequencies = 10_000 ** -(exponents(hands) if exponents else torch.linspace(0, 1, hands))
    return (patch % line + first)[:, None] * frequencies, (patch // line + first)[:, None] * frequencies
