"""Answers to exercise pretrained.jax."""

import numpy as np
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


@right("pretrained.jax")
def with_einsum(query, key, value):
    axes = "ihd->hdi" if query.ndim == 3 else "hd->hd"
    return torch.cat([torch.einsum(axes, part).flatten(0, 1) for part in (query, key, value)])


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


@wrong("pretrained.jax", "biases-not-taken")
def kernels_only(query, key, value):
    return torch.cat([part.permute(1, 2, 0).flatten(0, 1) for part in (query, key, value)])


@wrong("pretrained.jax", "returned-nothing")
def forgot_return(query, key, value):
    torch.cat([_plain(part) for part in (query, key, value)])


for slug, function in {
    "query-scaled": lambda q, k, v: torch.cat([_plain(q) / q.shape[-1] ** 0.5, _plain(k), _plain(v)]),
    "side-by-side-and-not-turned": lambda q, k, v: torch.cat([part.flatten(-2) for part in (q, k, v)], dim=-1),
    "head-by-head": lambda q, k, v: _plain(torch.stack([q, k, v], -2).flatten(-3, -2)),
    "rows-reversed": lambda q, k, v: flattened(q, k, v).flip(0),
    "one-part-repeated": lambda q, k, v: flattened(q, k, k),
    "one-part-turned": lambda q, k, v: torch.cat([_plain(q), k.flatten(-2), v.flatten(-2)]),
    "only-one-of-three": lambda q, k, v: _plain(q) + _plain(k) + _plain(v),
    "flattened": lambda q, k, v: flattened(q, k, v).flatten(),
    "bias-in-rows": lambda q, k, v: torch.cat([part.flatten(1).T for part in (q, k, v)]),
    "heads-by-number": lambda q, k, v: torch.cat(
        [rearrange(part, "... (h) d -> (h d) ...", h=12) for part in (q, k, v)]
    ),
    "numpy-array": lambda q, k, v: flattened(q, k, v).numpy(),
}.items():
    wrong("pretrained.jax", slug)(function)


@right("pretrained.jax")
def with_numpy(query, key, value):
    parts = np.stack([query.numpy(), key.numpy(), value.numpy()])
    return torch.from_numpy(np.moveaxis(parts, 1, -1).reshape(-1, len(query)) if query.ndim == 3 else parts.reshape(-1))


@right("pretrained.jax")
@torch.no_grad()
def without_gradient(query, key, value):
    return flattened(query, key, value)


@unforeseen("pretrained.jax")
def doubled(query, key, value):
    return 2 * flattened(query, key, value)


@wrong("pretrained.jax", "one-head")
def head_0(query, key, value):
    return torch.cat([part[:, 0].T if part.ndim == 3 else part[0] for part in (query, key, value)])


@wrong("pretrained.jax", "heads-by-number")
def width_by_number(query, key, value):
    return torch.cat([part.reshape(768, 768).T if part.ndim == 3 else part.flatten() for part in (query, key, value)])


@wrong("pretrained.jax", "kernel-not-turned-and-order-qvk")
def two_slips(query, key, value):
    return torch.cat([part.flatten(-2) for part in (query, value, key)])
