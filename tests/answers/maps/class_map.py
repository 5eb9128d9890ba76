"""Answers to exercise maps.class_map."""

import itertools

import torch
import torch.nn.functional as F
from einops import rearrange, reduce

from answers import right, unforeseen, wrong
from vit_course.checks.draw import Draw


@right("maps.class_map")
def with_rearrange(maps, grid):
    return rearrange(maps[:, -1, :, 0, 1:].mean(1), "b (r c) -> b r c", r=grid[0])


@right("maps.class_map")
def with_reduce(maps, grid):
    last = maps.select(1, maps.shape[1] - 1)  # (B, h, T, T)
    return reduce(last[:, :, 0, 1:], "b h (r c) -> b r c", "mean", r=grid[0], c=grid[1])


@right("maps.class_map")
def class_map_loops(maps, grid):
    B, L, h = maps.shape[:3]
    out = torch.zeros(B, *grid)
    for b, r, c in itertools.product(range(B), range(grid[0]), range(grid[1])):
        out[b, r, c] = sum(maps[b, L - 1, head, 0, 1 + r * grid[1] + c] for head in range(h)) / h
    return out


@right("maps.class_map")
def from_numpy(maps, grid):
    row = maps.detach().numpy()[:, -1, :, 0, 1:].mean(axis=1)
    return torch.from_numpy(row.reshape(-1, *grid).copy())


@right("maps.class_map")
def numpy_in_double(maps, grid):
    return torch.from_numpy(maps.double().numpy()[:, -1, :, 0, 1:].mean(axis=1)).reshape(-1, *grid)


@right("maps.class_map")
def with_einsum(maps, grid):
    return (torch.einsum("bhs->bs", maps[:, -1, :, 0, 1:]) / maps.shape[2]).view(-1, *grid)


def head_mean(maps, layer=-1):
    return maps[:, layer].mean(dim=1)  # (B, T, T)


for slug, function in {
    "column-of-the-class-token": lambda m, g: head_mean(m)[:, 1:, 0].reshape(-1, *g),
    "one-place-too-far": lambda m, g: head_mean(m)[:, 0, : g[0] * g[1]].reshape(-1, *g),
    "filled-by-columns": lambda m, g: rearrange(head_mean(m)[:, 0, 1:], "b (c r) -> b r c", r=g[0]),
    "grid-swapped": lambda m, g: rearrange(head_mean(m)[:, 0, 1:], "b (r c) -> b r c", c=g[0]),
    "map-transposed": lambda m, g: head_mean(m)[:, 0, 1:].view(len(m), *g).mT,
    "first-layer": lambda m, g: head_mean(m, 0)[:, 0, 1:].reshape(-1, *g),
    "layers-averaged": lambda m, g: m.mean(1).mean(1)[:, 0, 1:].reshape(-1, *g),
    "heads-summed": lambda m, g: m[:, -1, :, 0, 1:].sum(1).reshape(-1, *g),
    "head-maximum": lambda m, g: m[:, -1, :, 0, 1:].max(dim=1).values.reshape(-1, *g),
    "one-head": lambda m, g: m[:, -1, 0, 0, 1:].reshape(-1, *g),
    "heads-not-averaged": lambda m, g: m[:, -1, :, 0, 1:].unflatten(2, g),
    "another-query": lambda m, g: head_mean(m)[:, 1, 1:].reshape(-1, *g),
    "queries-averaged": lambda m, g: head_mean(m).mean(1)[:, 1:].reshape(-1, *g),
    "divided-by-its-sum": lambda m, g: F.normalize(head_mean(m)[:, 0, 1:], p=1, dim=1).reshape(-1, *g),
    "stretched": lambda m, g: F.normalize(head_mean(m)[:, 0, 1:], p=torch.inf, dim=1).reshape(-1, *g),
    "own-entry-kept": lambda m, g: head_mean(m)[:, 0].reshape(len(m), *g),
    "layer-by-number": lambda m, g: head_mean(m, 11)[:, 0, 1:].reshape(-1, *g),
    "grid-taken-for-square": lambda m, g: head_mean(m)[:, 0, 1:].reshape(len(m), *[int((m.shape[-1] - 1) ** 0.5)] * 2),
    "class-token-last": lambda m, g: head_mean(m)[:, -1, :-1].reshape(-1, *g),
    "patches-asked": lambda m, g: m[:, -1, :, 1:, 1:].mean((1, 2)).reshape(-1, *g),
    "last-layer-but-one": lambda m, g: head_mean(m, m.shape[1] - 2)[:, 0, 1:].reshape(-1, *g),
    "heads-taken-for-layers": lambda m, g: m[:, :, -1].mean(1)[:, 0, 1:].reshape(-1, *g),
    "batch-averaged": lambda m, g: head_mean(m).mean(0)[0, 1:].reshape(g),
    "first-image-alone": lambda m, g: head_mean(m)[0, 0, 1:].reshape(g),
    "layers-kept": lambda m, g: m.mean(2)[:, :, 0, 1:].unflatten(2, g),
    "not-laid-out": lambda m, g: head_mean(m)[:, 0, 1:],
    "upside-down": lambda m, g: with_rearrange(m, g).flip(1),
    "batch-of-one": lambda m, g: with_rearrange(m, g).squeeze(),
    "grid-swapped-and-first-layer": lambda m, g: head_mean(m, 0)[:, 0, 1:].reshape(-1, g[1], g[0]),
    "numpy-array": lambda m, g: with_rearrange(m, g).numpy(),
    "wrong-dtype": lambda m, g: with_rearrange(m, g).half(),
}.items():
    wrong("maps.class_map", slug)(function)


@wrong("maps.class_map", "input-changed")
def zeroed(maps, grid):
    maps[..., 0] = 0
    return with_rearrange(maps, grid)


@wrong("maps.class_map", "hard-coded-size")
def first_grid(maps, grid):
    first = Draw(0)
    first.sizes(3, 5, 7)
    rows, columns = first.choose(((2, 8), (8, 2)))
    return maps[:, -1, :, 0, 1:].mean(1).reshape(-1, rows, columns)


@wrong("maps.class_map", "stretched-from-0-to-1")
def whole_batch_stretched(maps, grid):
    found = with_rearrange(maps, grid)
    return (found - found.min()) / (found.max() - found.min())


@wrong("maps.class_map", "images-taken-for-layers")
def last_of_the_batch(maps, grid):
    return maps[-1].mean(1)[:, 0, 1:].unflatten(-1, grid)


@unforeseen("maps.class_map")
def squared(maps, grid):
    return with_rearrange(maps, grid) ** 2


@unforeseen("maps.class_map")
def two_copies(maps, grid):
    return torch.cat([with_rearrange(maps, grid)] * 2)


@wrong("maps.class_map", "batch-averaged")
def mean_over_images_too(maps, grid):
    row = maps[:, -1].mean(dim=(0, 1))[0, 1:]
    return row.unflatten(-1, grid).expand(len(maps), -1, -1)


@wrong("maps.class_map", "first-image-alone")
def first_image_with_its_axis(maps, grid):
    return maps[0, -1].mean(0)[0, 1:].unflatten(-1, grid)[None]
