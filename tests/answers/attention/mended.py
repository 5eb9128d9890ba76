"""Answers to exercise attention.mended."""

import math

import torch
import torch.nn.functional as F
from einops import rearrange

from answers import right, unforeseen, wrong


@right("attention.mended")
def mended_with_sdpa(x, qkv, projection, num_heads):
    q, k, v = rearrange(F.linear(x, qkv), "b t (three h d) -> three b h t d", three=3, h=num_heads)
    return F.linear(rearrange(F.scaled_dot_product_attention(q, k, v), "b h t d -> b t (h d)"), projection)


@right("attention.mended")
def mended_with_einsum(x, qkv, projection, num_heads):
    q, k, v = torch.einsum("btd,khed->kbhte", x, qkv.unflatten(0, (3, num_heads, -1)))
    weights = (torch.einsum("bhte,bhse->bhts", q, k) * q.shape[-1] ** -0.5).softmax(dim=-1)
    out = torch.einsum("bhts,bhse->bthe", weights, v)
    return torch.einsum("bthe,dhe->btd", out, projection.unflatten(1, (num_heads, -1)))


@right("attention.mended")
def mended_with_loop(x, qkv, projection, num_heads):
    q, k, v = (x @ qkv.T).chunk(3, dim=-1)
    d = x.shape[-1] // num_heads
    out = []
    for i in range(num_heads):
        part = slice(i * d, (i + 1) * d)
        weights = (q[..., part] @ k[..., part].mT / math.sqrt(d)).softmax(-1)
        out.append(weights @ v[..., part])
    return torch.cat(out, -1) @ projection.T


@right("attention.mended")
def mended_with_torch(x, qkv, projection, num_heads):
    return F.multi_head_attention_forward(
        x.transpose(0, 1), x.transpose(0, 1), x.transpose(0, 1), x.shape[-1], num_heads, qkv, torch.zeros(len(qkv)),
        None, None, False, 0.0, projection, None, training=False, need_weights=False,
    )[0].transpose(0, 1)  # fmt: skip


def attend(x, qkv, projection, h, order=(0, 1, 2), dim=-1, root=None, bare_merge=False, project=True):
    parts = (x @ qkv.T).unflatten(2, (3, h, -1)).permute(2, 0, 3, 1, 4)
    q, k, v = (parts[i] for i in order)
    out = (q @ k.mT / math.sqrt(root or q.shape[-1])).softmax(dim) @ v
    out = out.reshape(x.shape) if bare_merge else out.transpose(1, 2).flatten(2)
    return out @ projection.T if project else out


for slug, options in {
    "merged-by-bare-reshape": {"bare_merge": True},
    "key-value-swapped": {"order": (0, 2, 1)},
    "query-key-swapped": {"order": (1, 0, 2)},
    "softmax-over-queries": {"dim": -2},
    "no-projection": {"project": False},
}.items():
    wrong("attention.mended", slug)(lambda x, w, p, h, options=options: attend(x, w, p, h, **options))
wrong("attention.mended", "sqrt-of-hidden-width")(lambda x, w, p, h: attend(x, w, p, h, root=x.shape[-1]))
wrong("attention.mended", "both-bugs")(lambda x, w, p, h: attend(x, w, p, h, root=x.shape[-1], bare_merge=True))
wrong("attention.mended", "projection-transposed")(lambda x, w, p, h: attend(x, w, p.T, h))


def cut_by_reshape(x, w, p, h):
    q, k, v = (part.reshape(len(x), h, x.shape[1], -1) for part in (x @ w.T).chunk(3, -1))
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1).matmul(v).transpose(1, 2).flatten(2) @ p.T


def in_a_list(x, w, p, h):
    # As if the matrices of the first head came first, then those of the second.
    heads = [part.chunk(3, -1) for part in (x @ w.T).chunk(h, -1)]
    out = [(q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v for q, k, v in heads]
    return torch.cat(out, -1) @ p.T


wrong("attention.mended", "no-scale")(lambda x, w, p, h: attend(x, w, p, h, root=1))
wrong("attention.mended", "softmax-over-heads")(lambda x, w, p, h: attend(x, w, p, h, dim=1))
wrong("attention.mended", "scale-fixed")(lambda x, w, p, h: attend(x, w, p, h, root=64))
wrong("attention.mended", "no-scale-and-merged-by-bare-reshape")(
    lambda x, w, p, h: attend(x, w, p, h, root=1, bare_merge=True)
)
wrong("attention.mended", "keys-averaged")(lambda x, w, p, h: attend(x, w, p, h, order=(0, 1, 1)))
wrong("attention.mended", "one-head")(lambda x, w, p, h: attend(x, w, p, 1))
wrong("attention.mended", "cut-by-bare-reshape")(cut_by_reshape)
wrong("attention.mended", "heads-before-three")(in_a_list)
wrong("attention.mended", "input-added")(lambda x, w, p, h: x + attend(x, w, p, h))
wrong("attention.mended", "axes-do-not-fit")(lambda x, w, p, h: attend(x, w.T, p, h))
wrong("attention.mended", "view-of-transposed")(
    lambda x, w, p, h: attend(x, w, p, h).reshape(x.shape[1], len(x), -1).transpose(0, 1).view(-1)
)
wrong("attention.mended", "attends-over-the-batch")(
    lambda x, w, p, h: attend(x.transpose(0, 1), w, p, h).transpose(0, 1)
)
unforeseen("attention.mended")(lambda x, w, p, h: attend(x.abs(), w, p, h))


@wrong("attention.mended", "first-head-alone-right")
def queries_of_the_first_head(x, w, p, h):
    d = x.shape[-1] // h
    return attend(x, torch.cat([w[:d].repeat(h, 1), w[x.shape[-1] :]]), p, h)


@wrong("attention.mended", "batch-of-several")
def tokens_of_all_images(x, w, p, h):
    return attend(x.flatten(0, 1)[None], w, p, h).view(x.shape)
