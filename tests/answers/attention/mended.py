"""Answers to exercise attention.mended."""

import torch
import torch.nn.functional as F
from einops import rearrange

from answers import UNKNOWN, Answers

answers = Answers("attention.mended")

answers.edits(
    ("sqrt-of-hidden-width", "q.shape[-1] **", "x.shape[-1] **"),
    ("softmax-over-heads", "dim=-1", "dim=1"),
    ("queries-averaged", "@ v", "@ q"),
    ("one-head", "num_heads, -1", "1, -1"),
)


@answers.right
def by_einops(x, qkv, projection, num_heads):
    q, k, v = rearrange(F.linear(x, qkv), "b t (three h d) -> three b h t d", three=3, h=num_heads)
    out = F.scaled_dot_product_attention(q, k, v)
    return F.linear(rearrange(out, "b h t d -> b t (h d)"), projection)


@answers.right
def by_einsum(x, qkv, projection, num_heads):
    q, k, v = torch.einsum("btd,khed->kbhte", x, qkv.unflatten(0, (3, num_heads, -1)))
    weights = (torch.einsum("bhte,bhse->bhts", q, k) * q.shape[-1] ** (-0.5)).softmax(dim=-1)
    out = torch.einsum("bhts,bhse->bthe", weights, v)
    return torch.einsum("bthe,dhe->btd", out, projection.unflatten(1, (num_heads, -1)))


@answers.right
def head_by_head(x, qkv, projection, num_heads):
    q, k, v = (x @ qkv.T).chunk(3, dim=-1)
    d = x.shape[-1] // num_heads
    out = []
    for i in range(num_heads):
        part = slice(i * d, (i + 1) * d)
        weights = (q[..., part] @ k[..., part].mT / d**0.5).softmax(-1)
        out.append(weights @ v[..., part])
    return torch.cat(out, -1) @ projection.T


@answers.wrong("still-faulty")
def unrepaired(x, qkv, projection, num_heads):
    parts = (x @ qkv.T).unflatten(2, (3, num_heads, -1))  # (B, T, 3, h, d)
    q, k, v = parts.permute(2, 0, 3, 1, 4)  # each (B, h, T, d)
    scores = q @ k.transpose(-2, -1) / x.shape[-1] ** 0.5
    out = scores.softmax(dim=-1) @ v
    return out.reshape(x.shape) @ projection.T


@answers.wrong("merged-by-bare-reshape")
def still_joined_by_reshape(x, qkv, projection, num_heads):
    q, k, v = rearrange(F.linear(x, qkv), "b t (three h d) -> three b h t d", three=3, h=num_heads)
    out = F.scaled_dot_product_attention(q, k, v)
    return F.linear(rearrange(out, "b h t d -> b h (t d)").reshape(x.shape), projection)


@answers.wrong("heads-before-three")
def matrices_of_each_head_together(x, qkv, projection, num_heads):
    heads = [part.chunk(3, -1) for part in (x @ qkv.T).chunk(num_heads, -1)]
    out = [(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v for q, k, v in heads]
    return torch.cat(out, -1) @ projection.T


@answers.wrong(UNKNOWN)
def input_without_signs(x, qkv, projection, num_heads):
    return by_einops(x.abs(), qkv, projection, num_heads)
