"""Answers to exercise maps.class_map."""

import torch
from einops import reduce

from answers import UNKNOWN, Answers

answers = Answers("maps.class_map")

answers.edits(
    ("another-query", "last[:, 0, 1:]", "last[:, 1, 1:]"),
    ("first-layer", "maps[:, -1]", "maps[:, 0]"),
    ("heads-summed", "mean(dim=1)", "sum(dim=1)"),
    ("head-maximum", "mean(dim=1)", "amax(dim=1)"),
    ("first-image-alone", "last[:, 0, 1:]", "last[:1, 0, 1:]"),
)


@answers.right
def with_einops(maps, grid):
    last = maps.select(1, maps.shape[1] - 1)
    return reduce(last[:, :, 0, 1:], "b h (r c) -> b r c", "mean", r=grid[0], c=grid[1])


@answers.right
def in_loops(maps, grid):
    B, L, h = maps.shape[:3]
    rows, columns = grid
    out = torch.zeros(B, rows, columns)
    for b in range(B):
        for r in range(rows):
            for c in range(columns):
                out[b, r, c] = maps[b, L - 1, :, 0, 1 + r * columns + c].sum() / h
    return out


@answers.right
def with_einsum(maps, grid):
    return torch.einsum("bhs->bs", maps[:, -1, :, 0, 1:]).view(-1, *grid) / maps.shape[2]


@answers.right
def in_numpy(maps, grid):
    table = maps.double().numpy()[:, -1].mean(axis=1)
    return torch.from_numpy(table[:, 0, 1:].reshape(-1, *grid))


@answers.wrong("own-entry-kept")
def own_entry_kept(maps, grid):
    return maps[:, -1].mean(1)[:, 0].reshape(len(maps), *grid)


@answers.wrong("heads-not-averaged")
def heads_not_averaged(maps, grid):
    return maps[:, -1, :, 0, 1:].unflatten(-1, grid)


@answers.wrong(UNKNOWN)
def squared(maps, grid):
    last = maps[:, -1].mean(dim=1)
    return last[:, 0, 1:].unflatten(-1, grid) ** 2
