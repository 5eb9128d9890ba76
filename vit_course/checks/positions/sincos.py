"""Exercise positions.sincos: a sine-cosine table for a grid."""

import math

import torch
import torch.nn.functional as F

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Slip, wrong_functions
from vit_course.embeddings import sincos2d


def sincos(answer, draw):
    """`answer(grid, hidden_dim)`: (rows, columns), D -> (N, D), sin and cos of the column, then of the row."""
    # At least 3 frequencies: with 2, equal ratios and equal steps are the same.
    draws = [((rows, columns), 4 * hands) for rows, columns, hands in (draw.sizes(3, low=3), draw.sizes(3, low=3))]
    # One row, one column and one patch: an axis of length 1 is an axis.
    draws += [((1, 5), 12), ((4, 1), 16), ((1, 1), 12)]
    same_function(answer, sincos2d, draws, wrong_functions(MISTAKES, by_steps, pairs=2), axes="(N, D)")


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


MISTAKES = {
    "turn": [
        Slip(
            "axes-exchanged",
            "The first half of the numbers depends on the row and the second half on the column.",
            lambda x, y: (y.sin(), y.cos(), x.sin(), x.cos()),
        ),
        Slip(
            "cosine-first",
            "In each half, the cosines come before the sines.",
            lambda x, y: (x.cos(), x.sin(), y.cos(), y.sin()),
        ),
        Slip(
            "all-sines-first",
            "All sines come before all cosines, so no half of the numbers belongs to one axis.",
            lambda x, y: (x.sin(), y.sin(), x.cos(), y.cos()),
            lambda x, y: (y.sin(), x.sin(), y.cos(), x.cos()),
        ),
        Slip(
            "axes-exchanged",
            "The row comes before the column, and in each half the cosines come before the sines.",
            lambda x, y: (y.cos(), y.sin(), x.cos(), x.sin()),
        ),
        Slip(
            "one-axis-twice",
            "Both halves depend on the same axis.",
            lambda x, y: (x.sin(), x.cos(), x.sin(), x.cos()),
            lambda x, y: (y.sin(), y.cos(), y.sin(), y.cos()),
        ),
        Slip(
            "no-cosines",
            "There are sines in place of the cosines, so every number appears twice.",
            lambda x, y: (x.sin(), x.sin(), y.sin(), y.sin()),
        ),
    ],
    "frequencies": [
        Slip(
            "slowest-too-fast",
            "The frequencies stop one step early: the slowest is faster than 1/10,000.",
            _one_step_early,
        ),
        Slip(
            "slowest-too-fast",
            "The frequencies do not reach 1/10,000: the exponent is divided by the width or by half of it.",
            lambda hands: 10_000 ** (-torch.arange(hands) / (2 * hands)),
            lambda hands: 10_000 ** (-torch.arange(hands) / (4 * hands)),
        ),
        Slip(
            "fastest-too-slow",
            "The frequencies begin one step late: the fastest is slower than 1.",
            lambda hands: 10_000 ** (-(torch.arange(hands) + 1) / hands),
        ),
        Slip(
            "frequencies-backwards",
            "The frequencies are correct, but they run from the slowest to the fastest.",
            lambda hands: torch.logspace(-4, 0, hands),
        ),
        Slip(
            "frequencies-rise",
            "The frequencies rise from 1 to 10,000, so neighbouring patches get unrelated vectors.",
            lambda hands: 10_000 ** torch.linspace(0, 1, hands),
        ),
        Slip(
            "another-slowest",
            "The frequencies fall in equal ratios from 1, but the slowest is not 1/10,000.",
            lambda hands: torch.logspace(0, -1, hands),
            lambda hands: torch.logspace(0, -2, hands),
            lambda hands: torch.logspace(0, -3, hands),
            lambda hands: torch.logspace(0, -5, hands),
            lambda hands: torch.logspace(0, -6, hands),
            lambda hands: torch.logspace(0, -4 / math.log(10), hands),
            lambda hands: torch.logspace(0, -4 * math.log10(2), hands),
        ),
        Slip(
            "angles-in-another-unit",
            (
                "The angles are multiplied by a number: by two pi, by pi or by the factor that turns degrees into "
                "radians."
            ),
            lambda hands: 2 * math.pi * torch.logspace(0, -4, hands),
            lambda hands: math.pi * torch.logspace(0, -4, hands),
            lambda hands: math.pi / 180 * torch.logspace(0, -4, hands),
        ),
        Slip(
            "equal-steps",
            "The frequencies fall in equal steps, so nearly all hands are fast.",
            lambda hands: torch.linspace(1, 0.0001, hands),
        ),
    ],
    "places": [
        Slip("places-from-one", "Rows and columns are counted from 1.", lambda n, r, c: (n % c + 1, n // c + 1)),
        Slip(
            "broken-at-the-wrong-place",
            "A row of the grid is taken to have as many patches as the grid has rows.",
            lambda n, r, c: (n % r, n // r),
        ),
        Slip(
            "places-from-0-to-1",
            "The places are divided by the length of the grid, so they are no longer 0, 1, 2 and so on.",
            lambda n, r, c: (n % c / (c - 1), n // c / (r - 1)),
            lambda n, r, c: (n % c / c, n // c / r),
            lambda n, r, c: (torch.linspace(0, 1, c)[n % c], torch.linspace(0, 1, r)[n // c]),
        ),
        Slip(
            "places-from-minus-1",
            "The places run from -1 to 1, whatever the length of the grid, so they are no longer 0, 1, 2.",
            lambda n, r, c: (torch.linspace(-1, 1, c)[n % c], torch.linspace(-1, 1, r)[n // c]),
            lambda n, r, c: (2 * (n % c) / (c - 1) - 1, 2 * (n // c) / (r - 1) - 1),
        ),
        Slip(
            "places-from-the-middle",
            "The places are counted from the middle of the grid, not from 0.",
            lambda n, r, c: (n % c - (c - 1) / 2, n // c - (r - 1) / 2),
            lambda n, r, c: (n % c - c // 2, n // c - r // 2),
        ),
        Slip(
            "row-not-whole",
            "The row is not a whole number: it grows from patch to patch.",
            lambda n, r, c: (n % c, n / c),
        ),
        Slip(
            "rows-for-columns",
            "For one of the two axes, the number of rows is used as the number of columns.",
            lambda n, r, c: (n % c, n // r),
            lambda n, r, c: (n % r, n // c),
        ),
        Slip(
            "square-assumed",
            "The grid is taken to be square.",
            lambda n, r, c: (n % int((r * c) ** 0.5), n // int((r * c) ** 0.5)),
        ),
    ],
    "join": [
        Slip(
            "sin-cos-interleaved",
            "Sines and cosines alternate from number to number.",
            lambda a, b, c, d: torch.cat([torch.stack([a, b], 2).flatten(1), torch.stack([c, d], 2).flatten(1)], 1),
        ),
        Slip(
            "sin-cos-interleaved",
            "Sine and cosine of column and row alternate from number to number.",
            lambda *parts: torch.stack(parts, 2).flatten(1),
        ),
    ],
    "result": [
        Slip(
            "column-by-column",
            "The table runs down the columns of the grid; the patches run along its rows.",
            lambda grid, width: sincos2d(grid, width).unflatten(0, grid).transpose(0, 1).flatten(0, 1),
        ),
        Slip(
            "number-of-frequencies",
            "The table is too wide or too narrow because there are not D/4 frequencies for each axis.",
            lambda grid, width: sincos2d(grid, 2 * width),
            lambda grid, width: by_steps(grid, width // 2),
            lambda grid, width: sincos2d(grid, 4 * width),
        ),
        Slip(
            "no-cosines",
            "There are twice as many sines for each axis and no cosines.",
            lambda grid, width: by_steps(grid, 2 * width, turn=lambda x, y: (x.sin(), y.sin())),
        ),
        Slip(
            "no-sine-no-cosine",
            "These are the angles themselves, without sine and cosine.",
            lambda grid, width: by_steps(grid, width, turn=lambda x, y: (x, x, y, y)),
            lambda grid, width: by_steps(grid, 2 * width, turn=lambda x, y: (x, y)),
        ),
        Slip(
            "square-assumed",
            "The grid is taken to be square.",
            lambda grid, width: sincos2d((grid[0], grid[0]), width),
            lambda grid, width: sincos2d((grid[1], grid[1]), width),
        ),
        Slip(
            "one-dimensional",
            "The patches are numbered along the sequence: this table does not know that the grid has two axes.",
            lambda grid, width: _of_words(grid, width, False),
            lambda grid, width: _of_words(grid, width, True),
            lambda grid, width: _of_words(grid, width, False, _one_step_early),
            lambda grid, width: _of_words(grid, width, True, _one_step_early),
            lambda grid, width: by_steps(grid, width, lambda n, r, c: (n, n)),
        ),
        Slip(
            "axes-added",
            "The vector of the row is added to that of the column, so every number mixes both axes.",
            lambda grid, width: by_steps(grid, 2 * width, join=lambda a, b, c, d: torch.cat([a + c, b + d], 1)),
        ),
        Slip(
            "grid-not-flattened",
            "The values are correct, but they are still on the grid: there is one axis too many.",
            lambda grid, width: sincos2d(grid, width).unflatten(0, grid),
        ),
        Slip(
            "class-row-included",
            "There is a row for a class token in front; the exercise asks for rows for the patches only.",
            lambda grid, width: F.pad(sincos2d(grid, width), (0, 0, 1, 0)),
        ),
    ],
}
