"""Answers to exercise pretrained.jax."""

import numpy as np
import torch
from einops import rearrange

from answers import UNKNOWN, Answers

answers = Answers("pretrained.jax")

answers.edits(
    ("stacked", "torch.cat", "torch.stack"),
    ("side-by-side", "torch.cat", "torch.hstack"),
    ("one-part-repeated", "(query, key, value)]", "(query, key, key)]"),
)


@answers.right
def by_einops(query, key, value):
    pattern = "D h d -> (h d) D" if query.ndim == 3 else "h d -> (h d)"
    return torch.cat([rearrange(part, pattern) for part in (query, key, value)])


@answers.right
def stacked_first(query, key, value):
    stacked = torch.stack([query, key, value])  # (3, D, h, d) or (3, h, d)
    return stacked.permute(0, 2, 3, 1).flatten(0, 2) if query.ndim == 3 else stacked.flatten()


@answers.right
def by_numpy(query, key, value):
    stacked = np.stack([query.numpy(), key.numpy(), value.numpy()])
    if query.ndim == 2:
        return torch.from_numpy(stacked.reshape(-1))
    return torch.from_numpy(np.moveaxis(stacked, 1, -1).reshape(-1, len(query)))


@answers.right
def by_einsum(query, key, value):
    if query.ndim == 2:
        return torch.cat([query, key, value]).flatten()
    return torch.einsum("pihd->phdi", torch.stack([query, key, value])).flatten(0, 2)


@answers.wrong("kernel-not-turned")
def reshaped(query, key, value):
    if query.ndim == 3:
        return torch.cat([part.reshape(len(part), -1) for part in (query, key, value)])
    return torch.cat([part.reshape(-1) for part in (query, key, value)])


@answers.wrong("heads-innermost")
def transposed_whole(query, key, value):
    return torch.cat([part.transpose(-1, -2).flatten(-2).T for part in (query, key, value)])


@answers.wrong("axes-mixed")
def rows_of_the_kernels_joined(query, key, value):
    if query.ndim == 2:
        return torch.cat([query.flatten(), key.flatten(), value.flatten()])
    return torch.cat([query, key, value], dim=1).flatten(0, 1)


@answers.wrong("biases-not-taken")
def for_kernels_alone(query, key, value):
    return torch.cat([part.permute(1, 2, 0).flatten(0, 1) for part in (query, key, value)])


@answers.wrong(UNKNOWN)
def cut_off_at_zero(query, key, value):
    parts = [part.flatten(-2) for part in (query, key, value)]
    return torch.cat([part.T if part.ndim == 2 else part for part in parts]).relu()
