"""Answers to exercise maps.rollout."""

from functools import reduce

import einops
import numpy as np
import torch
import torch.nn.functional as F

from answers import UNKNOWN, Answers

answers = Answers("maps.rollout")

answers.edits(
    ("divided-by-column-sums", "dim=-1", "dim=-2"),
    ("head-mean", "amax", "mean"),
    ("heads-summed", "amax", "sum"),
    ("divided-by-the-largest", ".sum(", ".amax("),
    ("entry-by-entry", "keepdim=True) @ flow", "keepdim=True) * flow"),
)


@answers.right
def with_einops(maps):
    matrices = 0.5 * einops.reduce(maps, "l h t s -> l t s", "max") + 0.5 * torch.eye(maps.shape[-1])
    matrices = F.normalize(matrices, p=1, dim=-1)
    flow = matrices[-1]
    for matrix in matrices.flip(0)[1:]:
        flow = torch.einsum("ij,jk->ik", flow, matrix)
    return flow


@answers.right
def in_loops(maps):
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


@answers.right
def in_numpy(maps):
    matrices = maps.numpy().max(1) + np.eye(maps.shape[-1])
    matrices /= matrices.sum(-1, keepdims=True)
    return torch.from_numpy(reduce(lambda flow, matrix: matrix @ flow, matrices))


@answers.wrong("still-faulty")
def not_repaired(maps):
    flow = identity = torch.eye(maps.shape[-1])
    for heads in maps:
        matrix = heads.amax(dim=0) + identity
        flow = flow @ (matrix / matrix.sum(dim=-1))
    return flow


@answers.wrong("product-reversed")
def sums_repaired(maps):
    flow = identity = torch.eye(maps.shape[-1])
    for heads in maps:
        matrix = heads.amax(dim=0) + identity
        flow = flow @ (matrix / matrix.sum(dim=-1, keepdim=True))
    return flow


@answers.wrong("columns-divided")
def order_repaired(maps):
    flow = identity = torch.eye(maps.shape[-1])
    for heads in maps:
        matrix = heads.amax(dim=0) + identity
        flow = (matrix / matrix.sum(dim=-1)) @ flow
    return flow


@answers.wrong("halved-only")
def halved(maps):
    flow = identity = torch.eye(maps.shape[-1])
    for heads in maps:
        matrix = heads.amax(dim=0) + identity
        flow = matrix / 2 @ flow
    return flow


@answers.wrong(UNKNOWN)
def root(maps):
    flow = identity = torch.eye(maps.shape[-1])
    for heads in maps:
        matrix = heads.amax(dim=0) + identity
        flow = matrix / matrix.sum(dim=-1, keepdim=True) @ flow
    return flow.sqrt()
