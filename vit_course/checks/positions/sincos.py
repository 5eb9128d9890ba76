"""Exercise positions.sincos: a sine-cosine table for a grid."""

import math

import torch
import torch.nn.functional as F

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Mistake


def sincos(answer, draw):
    """`answer(grid, hidden_dim)`: (rows, columns), D -> (N, D), sin and cos of the column, then of the row."""
    # At least 3 frequencies: with 2, equal ratios and equal steps are the same.
    draws = [((rows, columns), 4 * hands) for rows, columns, hands in (draw.sizes(3, low=3), draw.sizes(3, low=3))]
    # One row, one column and one patch: an axis of length 1 is an axis.
    draws += [((1, 5), 12), ((4, 1), 16), ((1, 1), 12)]
    same_function(answer, by_steps, draws, MISTAKES, axes="(N, D)")


def _equal_ratios(hands):
    return 10_000 ** -torch.linspace(0, 1, hands)


def by_steps(
    grid,
    hidden_dim,
    places=lambda n, r, c: (n % c, n // c),
    frequencies=_equal_ratios,
    turn=lambda x, y: (x.sin(), x.cos(), y.sin(), y.cos()),
):
    """The right table, and with one of the steps replaced a wrong one.

    Args:
        grid, hidden_dim: (rows, columns), D.
        places: (number of the patch, rows, columns) -> (column, row).
        frequencies: how many there are -> (D/4,), one for each hand.
        turn: (angles of the column, of the row), each (N, D/4) -> the parts of the table, side by side (N, D).
    """
    x, y = places(torch.arange(grid[0] * grid[1]), *grid)
    hands = frequencies(hidden_dim // 4)
    return torch.cat(turn(x[:, None] * hands, y[:, None] * hands), dim=1)


def _one_step_early(hands):
    return 10_000 ** (-torch.arange(hands) / hands)


def _in_turn(*parts):
    return (torch.stack(parts, dim=2).flatten(1),)


def _of_words(grid, width, turn, frequencies=_equal_ratios):
    # As for the words of a sentence, after Vaswani et al.: by the number of the patch.
    return by_steps((1, grid[0] * grid[1]), 2 * width, frequencies=frequencies, turn=turn)


MISTAKES = [
    Mistake(
        "axes-exchanged",
        "The first half of the numbers depends on the row and the second half on the column.",
        {"turn": lambda x, y: (y.sin(), y.cos(), x.sin(), x.cos())},
    ),
    Mistake(
        "cosine-first",
        "In each half, the cosines come before the sines.",
        {"turn": lambda x, y: (x.cos(), x.sin(), y.cos(), y.sin())},
    ),
    Mistake(
        "all-sines-first",
        "All sines come before all cosines, so no half of the numbers belongs to one axis.",
        {"turn": lambda x, y: (x.sin(), y.sin(), x.cos(), y.cos())},
    ),
    Mistake(
        "axes-exchanged",
        "The row comes before the column, and in each half the cosines come before the sines.",
        {"turn": lambda x, y: (y.cos(), y.sin(), x.cos(), x.sin())},
    ),
    Mistake(
        "one-axis-twice",
        "Both halves depend on the same axis.",
        {"turn": lambda x, y: (x.sin(), x.cos(), x.sin(), x.cos())},
        {"turn": lambda x, y: (y.sin(), y.cos(), y.sin(), y.cos())},
    ),
    Mistake(
        "no-cosines",
        "There are sines in place of the cosines, so every number appears twice.",
        {"turn": lambda x, y: (x.sin(), x.sin(), y.sin(), y.sin())},
    ),
    Mistake(
        "slowest-too-fast",
        "The frequencies stop one step early: the slowest is faster than 1/10,000.",
        {"frequencies": _one_step_early},
    ),
    Mistake(
        "slowest-too-fast",
        "The frequencies do not reach 1/10,000: the exponent is divided by the width or by half of it.",
        {"frequencies": lambda hands: 10_000 ** (-torch.arange(hands) / (2 * hands))},
        {"frequencies": lambda hands: 10_000 ** (-torch.arange(hands) / (4 * hands))},
    ),
    Mistake(
        "frequencies-backwards",
        "The frequencies are correct, but they run from the slowest to the fastest.",
        {"frequencies": lambda hands: torch.logspace(-4, 0, hands)},
    ),
    Mistake(
        "frequencies-rise",
        "The frequencies rise from 1 to 10,000, so neighbouring patches get unrelated vectors.",
        {"frequencies": lambda hands: 10_000 ** torch.linspace(0, 1, hands)},
    ),
    Mistake(
        "another-slowest",
        "The frequencies fall in equal ratios from 1, but the slowest is not 1/10,000.",
        {"frequencies": lambda hands: torch.logspace(0, -2, hands)},
        {"frequencies": lambda hands: torch.logspace(0, -3, hands)},
        {"frequencies": lambda hands: torch.logspace(0, -6, hands)},
        {"frequencies": lambda hands: torch.exp(-torch.linspace(0, 4, hands))},
    ),
    Mistake(
        "angles-in-another-unit",
        "The angles are multiplied by a number: by two pi, by pi or by the factor that turns degrees into radians.",
        {"frequencies": lambda hands: 2 * math.pi * torch.logspace(0, -4, hands)},
        {"frequencies": lambda hands: math.pi * torch.logspace(0, -4, hands)},
        {"frequencies": lambda hands: math.pi / 180 * torch.logspace(0, -4, hands)},
    ),
    Mistake(
        "equal-steps",
        "The frequencies fall in equal steps, so nearly all hands are fast.",
        {"frequencies": lambda hands: torch.linspace(1, 0.0001, hands)},
    ),
    Mistake(
        "places-from-one", "Rows and columns are counted from 1.", {"places": lambda n, r, c: (n % c + 1, n // c + 1)}
    ),
    Mistake(
        "broken-at-the-wrong-place",
        "A row of the grid is taken to have as many patches as the grid has rows.",
        {"places": lambda n, r, c: (n % r, n // r)},
    ),
    Mistake(
        "places-from-0-to-1",
        "The places are divided by the length of the grid, so they are no longer 0, 1, 2 and so on.",
        {"places": lambda n, r, c: (n % c / (c - 1), n // c / (r - 1))},
        {"places": lambda n, r, c: (n % c / c, n // c / r)},
        {"places": lambda n, r, c: (torch.linspace(0, 1, c)[n % c], torch.linspace(0, 1, r)[n // c])},
    ),
    Mistake(
        "places-from-minus-1",
        "The places run from -1 to 1, whatever the length of the grid, so they are no longer 0, 1, 2.",
        {"places": lambda n, r, c: (torch.linspace(-1, 1, c)[n % c], torch.linspace(-1, 1, r)[n // c])},
    ),
    Mistake(
        "places-from-the-middle",
        "The places are counted from the middle of the grid, not from 0.",
        {"places": lambda n, r, c: (n % c - (c - 1) / 2, n // c - (r - 1) / 2)},
        {"places": lambda n, r, c: (n % c - c // 2, n // c - r // 2)},
    ),
    Mistake(
        "square-assumed",
        "The grid is taken to be square.",
        {"places": lambda n, r, c: (n % int((r * c) ** 0.5), n // int((r * c) ** 0.5))},
        lambda grid, width: by_steps((grid[0], grid[0]), width),
        lambda grid, width: by_steps((grid[1], grid[1]), width),
    ),
    Mistake(
        "sin-cos-interleaved",
        "Sines and cosines alternate from number to number.",
        {"turn": lambda x, y: (*_in_turn(x.sin(), x.cos()), *_in_turn(y.sin(), y.cos()))},
    ),
    Mistake(
        "sin-cos-interleaved",
        "Sine and cosine of column and row alternate from number to number.",
        {"turn": lambda x, y: _in_turn(x.sin(), x.cos(), y.sin(), y.cos())},
    ),
    Mistake(
        "column-by-column",
        "The table runs down the columns of the grid; the patches run along its rows.",
        lambda grid, width: by_steps(grid, width).unflatten(0, grid).transpose(0, 1).flatten(0, 1),
    ),
    Mistake(
        "number-of-frequencies",
        "The table is too wide or too narrow because there are not D/4 frequencies for each axis.",
        lambda grid, width: by_steps(grid, 2 * width),
        lambda grid, width: by_steps(grid, width // 2),
    ),
    Mistake(
        "no-cosines",
        "There are twice as many sines for each axis and no cosines.",
        lambda grid, width: by_steps(grid, 2 * width, turn=lambda x, y: (x.sin(), y.sin())),
    ),
    Mistake(
        "one-dimensional",
        "The patches are numbered along the sequence: this table does not know that the grid has two axes.",
        lambda grid, width: by_steps(grid, width, lambda n, r, c: (n, n)),
        lambda grid, width: _of_words(grid, width, lambda x, y: (x.sin(), x.cos())),
        lambda grid, width: _of_words(grid, width, lambda x, y: _in_turn(x.sin(), x.cos()), _one_step_early),
    ),
    Mistake(
        "axes-added",
        "The vector of the row is added to that of the column, so every number mixes both axes.",
        lambda grid, width: by_steps(grid, 2 * width, turn=lambda x, y: (x.sin() + y.sin(), x.cos() + y.cos())),
    ),
    Mistake(
        "grid-not-flattened",
        "The values are correct, but they are still on the grid: there is one axis too many.",
        lambda grid, width: by_steps(grid, width).unflatten(0, grid),
    ),
    Mistake(
        "class-row-included",
        "There is a row for a class token in front; the exercise asks for rows for the patches only.",
        lambda grid, width: F.pad(by_steps(grid, width), (0, 0, 1, 0)),
    ),
]
