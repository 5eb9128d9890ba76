"""Answers to exercise positions.sincos."""

import math

import numpy as np
import torch
from einops import rearrange, repeat

from answers import right, unforeseen, wrong
from vit_course.checks.draw import Draw
from vit_course.embeddings import sincos2d


@right("positions.sincos")
def by_division(grid, hidden_dim):
    frequencies = 10_000 ** -torch.linspace(0, 1, hidden_dim // 4)
    patch = torch.arange(grid[0] * grid[1])
    column, row = (patch % grid[1])[:, None] * frequencies, (patch // grid[1])[:, None] * frequencies
    return torch.cat([column.sin(), column.cos(), row.sin(), row.cos()], dim=1)


@right("positions.sincos")
def with_math(grid, D):
    table = []
    hands = D // 4
    speed = [10_000 ** (-k / (hands - 1)) for k in range(hands)]
    for r in range(grid[0]):
        for c in range(grid[1]):
            table.append([f(place * w) for place in (c, r) for f in (math.sin, math.cos) for w in speed])
    return torch.tensor(table)


@right("positions.sincos")
def as_in_the_chapter(grid, D):
    def axis(length):
        angles = torch.arange(length)[:, None] * torch.logspace(0, -4, D // 4)
        return torch.cat([angles.sin(), angles.cos()], dim=1)

    by_column = repeat(axis(grid[1]), "c d -> r c d", r=grid[0])
    by_row = repeat(axis(grid[0]), "r d -> r c d", c=grid[1])
    return rearrange(torch.cat([by_column, by_row], -1), "r c d -> (r c) d")


@right("positions.sincos")
def turned_hands(grid, D):
    frequencies = torch.exp(-math.log(10_000) * torch.arange(D // 4) / (D // 4 - 1))
    y, x = torch.meshgrid(*(torch.arange(n, dtype=torch.float32) for n in grid), indexing="ij")
    hands = [torch.polar(torch.tensor(1.0), torch.outer(place.flatten(), frequencies)) for place in (x, y)]
    return torch.cat([part for hand in hands for part in (hand.imag, hand.real)], dim=1)


@right("positions.sincos")
def with_numpy(grid, D):
    row, column = np.divmod(np.arange(grid[0] * grid[1]), grid[1])
    angles = [np.outer(place, np.geomspace(1, 1e-4, D // 4)) for place in (column, row)]
    return torch.from_numpy(np.concatenate([f(a) for a in angles for f in (np.sin, np.cos)], axis=1)).float()


@right("positions.sincos")
def with_einsum(grid, D):
    places = torch.cartesian_prod(*(torch.arange(float(n)) for n in grid)).flip(1)  # (N, 2), the column first
    angles = torch.einsum("nx,d->nxd", places, torch.logspace(0, -4, D // 4))
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)


def grid_table(grid, D, first=0, power=None, join=None, places=None):
    hands = D // 4
    power = torch.linspace(0, 1, hands) if power is None else power
    row, column = places or torch.meshgrid(torch.arange(grid[0]), torch.arange(grid[1]), indexing="ij")
    c, r = (torch.outer((place.flatten() + first).float(), 10_000**-power) for place in (column, row))
    return (join or (lambda c, r: torch.cat([c.sin(), c.cos(), r.sin(), r.cos()], 1)))(c, r)


right("positions.sincos")(grid_table)


def one_axis(length, D):
    angles = torch.outer(torch.arange(length).float(), 10_000 ** -torch.linspace(0, 1, D // 2))
    return torch.cat([angles.sin(), angles.cos()], dim=1)


for slug, function in [
    ("axes-exchanged", lambda g, D: grid_table(
        g, D, join=lambda c, r: torch.cat([r.sin(), r.cos(), c.sin(), c.cos()], 1))),
    ("column-by-column", lambda g, D: sincos2d(g, D).view(*g, D).mT.permute(2, 0, 1).reshape(-1, D)),
    ("column-by-column", lambda g, D: torch.cat([  # columns in the outer loop
        torch.cat([one_axis(g[1], D // 2)[c], one_axis(g[0], D // 2)[r]])[None]
        for c in range(g[1]) for r in range(g[0])])),
    ("broken-at-the-wrong-place", lambda g, D: grid_table(
        g, D, places=(torch.arange(g[0] * g[1]) // g[0], torch.arange(g[0] * g[1]) % g[0]))),
    ("cosine-first", lambda g, D: grid_table(
        g, D, join=lambda c, r: torch.cat([c.cos(), c.sin(), r.cos(), r.sin()], 1))),
    ("all-sines-first", lambda g, D: grid_table(
        g, D, join=lambda c, r: torch.cat([c.sin(), r.sin(), c.cos(), r.cos()], 1))),
    ("sin-cos-interleaved", lambda g, D: grid_table(
        g, D, join=lambda c, r: torch.stack([torch.cat([c, r], 1).sin(), torch.cat([c, r], 1).cos()], -1).flatten(1))),
    ("no-cosines", lambda g, D: grid_table(g, 2 * D, join=lambda c, r: torch.cat([c, r], 1).sin())),
    ("slowest-too-fast", lambda g, D: grid_table(g, D, power=torch.arange(D // 4) * 4 / D)),
    ("equal-steps", lambda g, D: grid_table(g, D, power=-torch.linspace(1, 1e-4, D // 4).log() / math.log(10_000))),
    ("frequencies-rise", lambda g, D: grid_table(g, D, power=torch.linspace(0, -1, D // 4))),
    ("places-from-one", lambda g, D: grid_table(g, D, first=1)),
    ("one-dimensional", lambda g, D: one_axis(g[0] * g[1], D)),
    ("axes-added", lambda g, D: (one_axis(g[1], D)[None] + one_axis(g[0], D)[:, None]).flatten(0, 1)),
    ("grid-not-flattened", lambda g, D: sincos2d(g, D).view(*g, D)),
    ("class-row-included", lambda g, D: torch.cat([torch.zeros(1, D), sincos2d(g, D)])),
    ("wrong-dtype", lambda g, D: sincos2d(g, D).double()),
    ("numpy-array", lambda g, D: sincos2d(g, D).numpy()),
    ("hard-coded-size", lambda g, D: grid_table(g, D, power=torch.linspace(0, 1, Draw(0).sizes(3, low=3)[2]))),
    ("scaled", lambda g, D: 2 * sincos2d(g, D)),
    ("axis-too-many", lambda g, D: sincos2d(g, D)[None]),
    ("another-slowest", lambda g, D: sincos2d(g, D, temperature=100.0)),
    ("axis-of-one-dropped", lambda g, D: sincos2d(g, D).squeeze()),
    ("fastest-too-slow", lambda g, D: grid_table(g, D, power=(1 + torch.arange(D // 4)) * 4 / D)),
    ("all-four-interleaved", lambda g, D: sincos2d(g, D).unflatten(1, (4, -1)).mT.flatten(1)),
    ("random-result", lambda g, D: torch.rand(g[0] * g[1], D)),
]:  # fmt: skip
    wrong("positions.sincos", slug)(function)

unforeseen("positions.sincos")(lambda g, D: sincos2d(g, D) + 1)
