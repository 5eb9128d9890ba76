"""Answers to exercise maps.rollout."""

import functools

import numpy as np
import torch
import torch.nn.functional as F
from einops import einsum, reduce

from answers import right, unforeseen, wrong
from vit_course.maps import interpret


@right("maps.rollout")
def with_keepdim(maps):
    flow = torch.eye(maps.shape[-1])
    for heads in maps:
        matrix = heads.max(dim=0).values + torch.eye(maps.shape[-1])
        flow = (matrix / matrix.sum(1, keepdim=True)) @ flow
    return flow


@right("maps.rollout")
def from_the_top(maps):
    matrices = F.normalize(maps.amax(1) + torch.eye(maps.shape[-1]), p=1, dim=-1)  # (L, T, T)
    flow = matrices[-1]
    for matrix in matrices.flip(0)[1:]:
        flow = einsum(flow, matrix, "i j, j k -> i k")
    return flow


@right("maps.rollout")
def with_multi_dot(maps):
    matrices = 0.5 * reduce(maps, "l h t s -> l t s", "max") + 0.5 * torch.eye(maps.shape[-1])
    matrices = matrices / matrices.sum(-1)[..., None]
    return torch.linalg.multi_dot([*matrices.flip(0).unbind(), torch.eye(maps.shape[-1])])


@right("maps.rollout")
def with_index_loops(maps):
    L, _, T, _ = maps.shape
    flow = torch.eye(T)
    for layer in range(L):
        new = torch.zeros(T, T)
        for i in range(T):
            row = maps[layer, :, i].amax(0).clone()
            row[i] += 1
            for j in range(T):
                new[i] += row[j] / row.sum() * flow[j]
        flow = new
    return flow


@right("maps.rollout")
def numpy_in_double(maps):
    matrices = maps.numpy().max(1) + np.eye(maps.shape[-1])  # (L, T, T), float64
    matrices /= matrices.sum(-1, keepdims=True)
    return torch.from_numpy(functools.reduce(lambda flow, matrix: matrix @ flow, matrices))


def roll(maps, fuse=torch.amax, residual=1.0, norm=lambda m: m / m.sum(-1, keepdim=True), reverse=False):
    flow = torch.eye(maps.shape[-1])
    for heads in maps.flip(0) if reverse else maps:
        flow = norm(fuse(heads, dim=0) + residual * torch.eye(maps.shape[-1])) @ flow
    return flow


def add_half(m):
    return (F.normalize(m, p=1, dim=1) + torch.eye(len(m))) / 2


for slug, options in {
    "columns-divided": {"norm": lambda m: m / m.sum(-1)},
    "divided-by-column-sums": {"norm": lambda m: F.normalize(m, p=1, dim=0)},
    "product-reversed": {"reverse": True},
    "product-reversed-and-columns": {"reverse": True, "norm": lambda m: F.normalize(m, p=1, dim=0)},
    "both-bugs": {"reverse": True, "norm": lambda m: m / m.sum(-1)},
    "head-mean": {"fuse": torch.mean},
    "heads-summed": {"fuse": torch.sum},
    "no-residual": {"residual": 0.0},
    "rows-not-divided": {"norm": lambda m: m},
    "halved-only": {"norm": lambda m: 0.5 * m},
    "maximum-halved-with-residual-of-one": {"norm": lambda m: 0.5 * m + 0.5 * torch.eye(len(m))},
    "residual-after-division": {"residual": 0.0, "norm": lambda m: F.normalize(m, p=1, dim=1) + torch.eye(len(m))},
    "halves-of-divided": {"residual": 0.0, "norm": add_half},
}.items():
    wrong("maps.rollout", slug)(lambda maps, options=options: roll(maps, **options))


@wrong("maps.rollout", "head-mean")
def from_the_package(maps):
    return interpret.rollout(maps[None])[0]


@wrong("maps.rollout", "divided-at-the-end")
def divided_late(maps):
    flow = roll(maps, norm=lambda m: m)
    return flow / flow.sum(-1, keepdim=True)


@wrong("maps.rollout", "last-layer-only")
def last_layer(maps):
    return roll(maps[-1:])


@wrong("maps.rollout", "layers-averaged")
def averaged(maps):
    return sum(roll(layer[None]) for layer in maps) / len(maps)


@wrong("maps.rollout", "entry-by-entry")
def hadamard(maps):
    flow = torch.ones(maps.shape[-2:])
    for layer in maps:
        flow = flow * roll(layer[None])
    return flow


@wrong("maps.rollout", "input-changed")
def diagonal_in_place(maps):
    flow = torch.eye(maps.shape[-1])
    for heads in maps:
        heads.diagonal(dim1=1, dim2=2).add_(1)
        flow = F.normalize(heads.amax(0), p=1, dim=1) @ flow
    return flow


for slug, function in {
    "product-reversed-and-head-mean": lambda maps: roll(maps, fuse=torch.mean, reverse=True),
    "head-minimum": lambda maps: roll(maps, fuse=torch.amin),
    "one-head": lambda maps: roll(maps[:, :1]),
    "maximum-halved": lambda maps: roll(0.5 * maps),
    "first-layer-left-out": lambda maps: roll(maps[1:]),
    "last-layer-left-out": lambda maps: roll(maps[:-1]),
    "last-layer-twice": lambda maps: roll(torch.cat([maps, maps[-1:]])),
    "result-transposed": lambda maps: roll(maps).T,
    "class-row-only": lambda maps: roll(maps)[0],
    "residual-at-the-end": lambda maps: roll(maps, residual=0.0) + torch.eye(maps.shape[-1]),
    "softmax-of-rows": lambda maps: roll(maps, norm=lambda m: m.softmax(-1)),
    "divided-by-the-largest": lambda maps: roll(maps, norm=lambda m: m / m.amax(-1, keepdim=True)),
    "divided-by-the-length": lambda maps: roll(maps, norm=lambda m: F.normalize(m, dim=-1)),
    "layers-kept": lambda maps: torch.stack([roll(maps[: i + 1]) for i in range(len(maps))]),
    "layers-taken-for-heads": lambda maps: roll(maps.transpose(0, 1)),
}.items():
    wrong("maps.rollout", slug)(function)


def one_by_one(step):
    def stepped(maps):
        total = torch.eye(maps.shape[-1])
        for heads in maps:
            total = step(heads, torch.eye(maps.shape[-1]), total)
        return total

    return stepped


for slug, step in {
    "flow-in-place-of-the-identity": lambda heads, eye, total: F.normalize(heads.amax(0) + total, p=1, dim=1),
    "product-divided": lambda heads, eye, total: (
        total @ (heads.amax(0) + eye) / (heads.amax(0) + eye).sum(-1, keepdim=True)
    ),
    "entry-by-entry": lambda heads, eye, total: F.normalize(heads.amax(0) + eye, p=1, dim=1) * total,
    "maximum-with-its-places": lambda heads, eye, total: heads.max(dim=0) + eye,
}.items():
    wrong("maps.rollout", slug)(one_by_one(step))


@unforeseen("maps.rollout")
def rooted(maps):
    return roll(maps).sqrt()


@unforeseen("maps.rollout")
def twice(maps):
    return torch.stack([roll(maps)] * 2)
