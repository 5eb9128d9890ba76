"""Exercise positions.sincos: a sine-cosine table for a grid."""

import torch

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.table import table
from vit_course.embeddings import sincos2d


def sincos(answer, draw):
    """`answer(grid, hidden_dim)`: (rows, columns), D -> (N, D), sin and cos of the column, then of the row."""
    # At least 3 frequencies: with 2, equal ratios and equal steps are the same.
    draws = [((rows, columns), 4 * hands) for rows, columns, hands in (draw.sizes(3, low=3), draw.sizes(3, low=3))]
    # One row, one column and one patch: an axis of length 1 is an axis.
    draws += [((1, 5), 12), ((4, 1), 16), ((1, 1), 12)]
    same_function(answer, sincos2d, draws, table(__name__, "mistakes", by_steps), axes="(N, D)")


def _equal_ratios(hands):
    return 10_000 ** -torch.linspace(0, 1, hands)


def by_steps(
    grid,
    width,
    places=lambda n, r, c: (n % c, n // c),
    frequencies=_equal_ratios,
    turn=lambda x, y: (x.sin(), x.cos(), y.sin(), y.cos()),
    join=lambda *parts: torch.cat(parts, dim=1),
):
    """The right table, and with one of the steps replaced a wrong one.

    Args:
        grid, width: (rows, columns), D.
        places: (number of the patch, rows, columns) -> (column, row).
        frequencies: how many there are -> (D/4,), one for each hand.
        turn: (angles of the column, of the row), each (N, D/4) -> the four parts of the table.
        join: the four parts -> (N, D).
    """
    x, y = places(torch.arange(grid[0] * grid[1]), *grid)
    hands = frequencies(width // 4)
    return join(*turn(x[:, None] * hands, y[:, None] * hands))


def _one_step_early(hands):
    return 10_000 ** (-torch.arange(hands) / hands)


def _of_words(grid, width, in_turn, frequencies=_equal_ratios):
    # As for the words of a sentence, after Vaswani et al.: sines and cosines of the patch's number, or in turn.
    def turn(x, y):
        return (torch.stack([x.sin(), x.cos()], dim=2).flatten(1),) if in_turn else (x.sin(), x.cos())

    return by_steps((1, grid[0] * grid[1]), 2 * width, frequencies=frequencies, turn=turn)
