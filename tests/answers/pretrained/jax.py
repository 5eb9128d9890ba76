"""Answers to exercise pretrained.jax."""

import torch
from einops import rearrange

from answers import right, unforeseen, wrong


@right("pretrained.jax")
def flattened(query, key, value):
    parts = [part.flatten(-2) for part in (query, key, value)]
    return torch.cat([part.T if part.ndim == 2 else part for part in parts])


@right("pretrained.jax")
def rearranged(query, key, value):
    pattern = "i h d -> (h d) i" if query.ndim == 3 else "h d -> (h d)"
    return torch.cat([rearrange(part, pattern) for part in (query, key, value)])


@right("pretrained.jax")
def outputs_first(query, key, value):
    stacked = torch.stack([query, key, value])  # (3, D, h, d) or (3, h, d)
    if query.ndim == 3:
        return stacked.permute(0, 2, 3, 1).flatten(0, 2)
    return stacked.flatten()


def _plain(part):
    return part.flatten(-2).T if part.ndim == 3 else part.flatten()


for _order in ("qvk", "kqv", "kvq", "vqk", "vkq"):

    @wrong("pretrained.jax", f"order-{_order}")
    def in_another_order(query, key, value, order=_order):
        return torch.cat([_plain({"q": query, "k": key, "v": value}[part]) for part in order])


@wrong("pretrained.jax", "kernel-not-turned")
def as_it_is(query, key, value):
    return torch.cat([part.flatten(-2) for part in (query, key, value)])


@wrong("pretrained.jax", "heads-innermost")
def heads_last(query, key, value):
    return torch.cat([_plain(part.transpose(-1, -2)) for part in (query, key, value)])


@wrong("pretrained.jax", "axes-mixed")
def reshaped(query, key, value):
    if query.ndim == 2:
        return torch.cat([part.flatten() for part in (query, key, value)])
    return torch.cat([part.transpose(0, 1).reshape(len(part), len(part)) for part in (query, key, value)])


@wrong("pretrained.jax", "stacked")
def one_axis_more(query, key, value):
    return torch.stack([_plain(part) for part in (query, key, value)])


@wrong("pretrained.jax", "side-by-side")
def beside(query, key, value):
    return torch.hstack([_plain(part) for part in (query, key, value)])


@wrong("pretrained.jax", "rows-alternate")
def row_by_row(query, key, value):
    return torch.stack([_plain(part) for part in (query, key, value)], dim=1).flatten(0, 1)


@wrong("pretrained.jax", "raised-error")
def kernels_only(query, key, value):
    return torch.cat([part.permute(1, 2, 0).flatten(0, 1) for part in (query, key, value)])


@wrong("pretrained.jax", "returned-nothing")
def forgot_return(query, key, value):
    torch.cat([_plain(part) for part in (query, key, value)])


@unforeseen("pretrained.jax")
def scaled(query, key, value):
    return torch.cat([_plain(query) / query.shape[-1] ** 0.5, _plain(key), _plain(value)])
