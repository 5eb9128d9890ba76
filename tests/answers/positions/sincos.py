"""Answers to exercise positions.sincos."""

import math

import numpy as np
import torch
from einops import rearrange, repeat

from answers import UNKNOWN, Answers

answers = Answers("positions.sincos")

answers.edits(
    ("frequencies-rise", "** -torch", "** torch"),
    ("another-slowest", "10_000", "100"),
    ("another-slowest", "10_000", "1_000_000"),
    (UNKNOWN, "patch // grid[1]", "patch / grid[1]"),
    ("number-of-frequencies", "// 4", "// 2"),
)


@answers.right
def loops(grid, D):
    table = []
    speed = [10_000 ** (-k / (D // 4 - 1)) for k in range(D // 4)]
    for r in range(grid[0]):
        for c in range(grid[1]):
            table.append([f(place * w) for place in (c, r) for f in (math.sin, math.cos) for w in speed])
    return torch.tensor(table)


@answers.right
def einops(grid, D):
    def axis(length):
        angles = torch.arange(length)[:, None] * torch.logspace(0, -4, D // 4)
        return torch.cat([angles.sin(), angles.cos()], dim=1)

    by_column = repeat(axis(grid[1]), "c d -> r c d", r=grid[0])
    by_row = repeat(axis(grid[0]), "r d -> r c d", c=grid[1])
    return rearrange(torch.cat([by_column, by_row], -1), "r c d -> (r c) d")


@answers.right
def turned_hands(grid, D):
    frequencies = torch.exp(-math.log(10_000) * torch.arange(D // 4) / (D // 4 - 1))
    y, x = torch.meshgrid(*(torch.arange(n, dtype=torch.float32) for n in grid), indexing="ij")
    hands = [torch.polar(torch.tensor(1.0), torch.outer(place.flatten(), frequencies)) for place in (x, y)]
    return torch.cat([part for hand in hands for part in (hand.imag, hand.real)], dim=1)


@answers.right
def numpy(grid, D):
    row, column = np.divmod(np.arange(grid[0] * grid[1]), grid[1])
    angles = [np.outer(place, np.geomspace(1, 1e-4, D // 4)) for place in (column, row)]
    return torch.from_numpy(np.concatenate([f(a) for a in angles for f in (np.sin, np.cos)], axis=1)).float()


@answers.right
def einsum(grid, D):
    places = torch.cartesian_prod(*(torch.arange(float(n)) for n in grid)).flip(1)
    angles = torch.einsum("nx,d->nxd", places, torch.logspace(0, -4, D // 4))
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)


@answers.wrong("slowest-too-fast")
def divided_by_the_width(grid, hidden_dim):
    frequencies = 10_000 ** -(torch.arange(hidden_dim // 4) / hidden_dim)
    patch = torch.arange(grid[0] * grid[1])
    by_column = (patch % grid[1])[:, None] * frequencies
    by_row = (patch // grid[1])[:, None] * frequencies
    return torch.cat([by_column.sin(), by_column.cos(), by_row.sin(), by_row.cos()], dim=1)


@answers.wrong("column-by-column")
def column_by_column(grid, hidden_dim):
    frequencies = torch.logspace(0, -4, hidden_dim // 4)
    column, row = torch.meshgrid(torch.arange(grid[1]), torch.arange(grid[0]), indexing="ij")
    by_column, by_row = column.flatten()[:, None] * frequencies, row.flatten()[:, None] * frequencies
    return torch.cat([by_column.sin(), by_column.cos(), by_row.sin(), by_row.cos()], dim=1)


@answers.wrong("broken-at-the-wrong-place")
def broken_at_the_wrong_place(grid, hidden_dim):
    frequencies = 10_000 ** -torch.linspace(0, 1, hidden_dim // 4)
    patch = torch.arange(grid[0] * grid[1])
    by_column = (patch % grid[0])[:, None] * frequencies
    by_row = (patch // grid[0])[:, None] * frequencies
    return torch.cat([by_column.sin(), by_column.cos(), by_row.sin(), by_row.cos()], dim=1)


@answers.wrong(UNKNOWN)
def columns_from_one(grid, hidden_dim):
    frequencies = 10_000 ** -torch.linspace(0, 1, hidden_dim // 4)
    patch = torch.arange(grid[0] * grid[1])
    by_column = (patch % grid[1] + 1)[:, None] * frequencies
    by_row = (patch // grid[1])[:, None] * frequencies
    return torch.cat([by_column.sin(), by_column.cos(), by_row.sin(), by_row.cos()], dim=1)
