"""Answers to the exercises of chapter 04."""

import math

import torch
import torch.nn.functional as F
from einops import einsum, rearrange
from torch import nn

from answers import right, unforeseen, wrong
from vit_course.attention import AttentionHead, SelfAttention
from vit_course.checks.draw import Draw

# ---- weights


@right("attention.weights")
def with_einsum(q, k):
    return torch.softmax(einsum(q, k, "b h t d, b h s d -> b h t s") * q.size(-1) ** -0.5, -1)


@right("attention.weights")
def with_loops(q, k):
    B, h, T, d = q.shape
    out = torch.zeros(B, h, T, k.shape[2])
    for b in range(B):
        for head in range(h):
            for t in range(T):
                scores = torch.stack([torch.dot(q[b, head, t], k[b, head, s]) for s in range(k.shape[2])])
                exp = torch.exp(scores / math.sqrt(d))
                out[b, head, t] = exp / exp.sum()
    return out


@right("attention.weights")
def keys_scaled(q, k):
    d = q.shape[-1]
    return F.softmax(torch.matmul(q, (k / d**0.5).mT), dim=3)


@right("attention.weights")
def from_sdpa(q, k):
    identity = torch.eye(k.shape[-2]).expand(*k.shape[:2], -1, -1)
    return F.scaled_dot_product_attention(q, k, identity)


@wrong("attention.weights", "softmax-over-queries")
def columns(q, k):
    return (q @ k.transpose(2, 3) / q.shape[3] ** 0.5).softmax(2)


@wrong("attention.weights", "no-scale")
def unscaled(q, k):
    return (q @ k.mT).softmax(-1)


@wrong("attention.weights", "scale-by-d")
def by_width(q, k):
    return (q @ k.mT / q.shape[-1]).softmax(-1)


@wrong("attention.weights", "scale-by-tokens")
def by_tokens(q, k):
    return (q @ k.mT / k.shape[-2] ** 0.5).softmax(-1)


@wrong("attention.weights", "multiplied-by-root")
def multiplied(q, k):
    return (q @ k.mT * math.sqrt(q.shape[-1])).softmax(-1)


@wrong("attention.weights", "no-softmax")
def scores_only(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


@wrong("attention.weights", "softmax-over-heads")
def over_heads(q, k):
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=1)


@wrong("attention.weights", "scaled-after-softmax")
def scaled_late(q, k):
    return (q @ k.mT).softmax(-1) / math.sqrt(q.shape[-1])


@wrong("attention.weights", "raised-error")
def not_transposed(q, k):
    return (q @ k).softmax(-1)


@wrong("attention.weights", "gradient-cut")
def detached(q, k):
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1).detach()


@wrong("attention.weights", "input-changed")
def in_place(q, k):
    q /= math.sqrt(q.shape[-1])
    return (q @ k.mT).softmax(-1)


@wrong("attention.weights", "random-result")
def dropout_left_on(q, k):
    return F.dropout((q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1), 0.5)


@wrong("attention.weights", "hard-coded-size")
def one_size(q, k):
    width = Draw(0).sizes(5)[4]  # of the first draw
    return (q @ k.mT / math.sqrt(width)).softmax(-1)


@unforeseen("attention.weights")
def absolute(q, k):
    return (q @ k.mT / math.sqrt(q.shape[-1])).abs().softmax(-1)


@unforeseen("attention.weights")
def other_shape(q, k):
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)[:, 0]


# ---- split_heads


@right("attention.split_heads")
def with_rearrange(x, h):
    return rearrange(x, "b t (h d) -> b h t d", h=h)


@right("attention.split_heads")
def with_chunks(x, h):
    return torch.stack(x.chunk(h, dim=-1), dim=1)


@right("attention.split_heads")
def with_view(x, num_heads):
    B, T, D = x.shape
    return x.view(B, T, num_heads, D // num_heads).permute(0, 2, 1, 3)


@right("attention.split_heads")
def with_slices(x, h):
    d = x.shape[-1] // h
    return torch.cat([x[:, None, :, i * d : (i + 1) * d] for i in range(h)], dim=1)


@wrong("attention.split_heads", "bare-reshape")
def bare(x, h):
    return x.view(len(x), h, x.shape[1], x.shape[2] // h)


@wrong("attention.split_heads", "interleaved-heads")
def interleaved(x, h):
    return rearrange(x, "b t (d h) -> b h t d", h=h)


@wrong("attention.split_heads", "heads-after-tokens")
def no_transpose(x, h):
    return x.reshape(*x.shape[:2], h, -1)


@wrong("attention.split_heads", "heads-before-batch")
def heads_first(x, h):
    return torch.stack(x.chunk(h, -1))


@wrong("attention.split_heads", "token-and-width-swapped")
def swapped(x, h):
    return rearrange(x, "b t (h d) -> b h d t", h=h)


@unforeseen("attention.split_heads")
def reversed_heads(x, h):
    return rearrange(x, "b t (h d) -> b h t d", h=h).flip(1)


# ---- counts

RIGHT_COUNTS = {
    "head_width": 64,
    "weights_per_image": 232_854,
    "layer_parameters": 591_360,
    "parameters_with_twice_the_heads": 591_360,
}


@right("attention.counts")
def as_numbers():
    return RIGHT_COUNTS


@right("attention.counts")
def as_products():
    D, h, T = 384, 6, 14**2 + 1
    layer = 4 * (D * D + D)
    return dict(
        head_width=D // h, weights_per_image=h * T**2, layer_parameters=layer, parameters_with_twice_the_heads=layer
    )


@right("attention.counts")
def counted():
    layer = nn.MultiheadAttention(384, 6)
    total = sum(p.numel() for p in layer.parameters())
    return {
        "head_width": layer.head_dim,
        "weights_per_image": torch.ones(6, 197, 197).sum().long(),
        "layer_parameters": total,
        "parameters_with_twice_the_heads": total,
    }


def _counts(exercise_mistake, **changes):
    wrong("attention.counts", exercise_mistake)(lambda: RIGHT_COUNTS | changes)


_counts("width-not-divided", head_width=384)
_counts("one-head-only", weights_per_image=197**2)
_counts("class-token-forgotten", weights_per_image=6 * 196**2)
_counts("one-query-only", weights_per_image=6 * 197)
_counts("projection-forgotten", layer_parameters=3 * (384**2 + 384))
_counts("biases-forgotten", layer_parameters=4 * 384**2)
_counts("more-heads-more-parameters", parameters_with_twice_the_heads=2 * 591_360)
_counts("float-count", head_width=384 / 6)
unforeseen("attention.counts")(lambda: RIGHT_COUNTS | {"head_width": 63})


# ---- mended


@right("attention.mended")
def mended_with_sdpa(x, qkv, projection, num_heads):
    q, k, v = rearrange(F.linear(x, qkv), "b t (three h d) -> three b h t d", three=3, h=num_heads)
    return F.linear(rearrange(F.scaled_dot_product_attention(q, k, v), "b h t d -> b t (h d)"), projection)


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
unforeseen("attention.mended")(lambda x, w, p, h: x + attend(x, w, p, h))


# ---- module


@right("attention.module")
class Finished(SelfAttention):
    pass


@right("attention.module")
class Heads(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        self.heads = nn.ModuleList(AttentionHead(hidden_dim, hidden_dim // num_heads) for _ in range(num_heads))
        self.mix = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x):
        return self.mix(torch.cat([head(x)[0] for head in self.heads], dim=-1))


@right("attention.module")
class FromTorch(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        self.inner = nn.MultiheadAttention(hidden_dim, num_heads, batch_first=True)

    def forward(self, x):
        return self.inner(x, x, x, need_weights=False)[0]


@right("attention.module")
class Raw(nn.Module):
    def __init__(self, D, h):
        super().__init__()
        self.w1, self.w2, self.w3 = (nn.Parameter(torch.randn(h, D, D // h)) for _ in range(3))
        self.last = nn.Parameter(torch.randn(D, D))

    def forward(self, x):
        q, k, v = (torch.einsum("btc,hcd->bhtd", x, w) for w in (self.w1, self.w2, self.w3))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2) @ self.last


class Variant(nn.Module):
    dim, project, split = -1, True, "right"

    def __init__(self, D, h):
        super().__init__()
        self.h, self.q, self.k, self.v = h, nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, D)
        if self.project:
            self.out = nn.Linear(D, D)

    def cut(self, x):
        if self.split == "bare":
            return x.reshape(len(x), self.h, x.shape[1], -1)
        return rearrange(x, "b t (d h) -> b h t d" if self.split == "interleaved" else "b t (h d) -> b h t d", h=self.h)

    def merge(self, out, x):
        if self.split == "bare":
            return out.reshape(x.shape)
        return rearrange(out, "b h t d -> b t (d h)" if self.split == "interleaved" else "b h t d -> b t (h d)")

    def divisor(self, q, x):
        return math.sqrt(q.shape[-1])

    def forward(self, x):
        q, k, v = (self.cut(layer(x)) for layer in (self.q, self.k, self.v))
        out = self.merge((q @ k.mT / self.divisor(q, x)).softmax(self.dim) @ v, x)
        return self.out(out) if self.project else out


right("attention.module")(Variant)


@wrong("attention.module", "softmax-over-queries")
class OverQueries(Variant):
    dim = -2


@wrong("attention.module", "no-projection")
class NoProjection(Variant):
    project = False


@wrong("attention.module", "tokens-mixed")
class Bare(Variant):
    split = "bare"


@right("attention.module")  # another order of the same numbers: as good, with parameters of one's own
class Interleaved(Variant):
    split = "interleaved"


@wrong("attention.module", "no-scale")
class NoScale(Variant):
    def divisor(self, q, x):
        return 1.0


@wrong("attention.module", "sqrt-of-hidden-width")
class RootOfHidden(Variant):
    def divisor(self, q, x):
        return math.sqrt(x.shape[-1])


@wrong("attention.module", "scale-by-d")
class ByWidth(Variant):
    def divisor(self, q, x):
        return q.shape[-1]


@wrong("attention.module", "shared-query-key")
class OneMatrix(nn.Module):
    def __init__(self, D, h):
        super().__init__()
        self.h, self.qkv, self.out = h, nn.Linear(D, D), nn.Linear(D, D)

    def forward(self, x):
        q = rearrange(self.qkv(x), "b t (h d) -> b h t d", h=self.h)
        return self.out(rearrange(F.scaled_dot_product_attention(q, q, q), "b h t d -> b t (h d)"))


@wrong("attention.module", "no-parameters")
class PlainList(nn.Module):
    def __init__(self, D, h):
        super().__init__()
        self.layers = [nn.Linear(D, D) for _ in range(4)]
        self.h = h

    def forward(self, x):
        q, k, v = (rearrange(layer(x), "b t (h d) -> b h t d", h=self.h) for layer in self.layers[:3])
        return self.layers[3](rearrange(F.scaled_dot_product_attention(q, k, v), "b h t d -> b t (h d)"))


@wrong("attention.module", "no-super-init")
class NoSuper(nn.Module):
    def __init__(self, D, h):
        self.qkv = nn.Linear(D, 3 * D)


@wrong("attention.module", "batch-mates-matter")
class BatchFirstForgotten(nn.Module):
    def __init__(self, D, h):
        super().__init__()
        self.inner = nn.MultiheadAttention(D, h)

    def forward(self, x):
        return self.inner(x, x, x, need_weights=False)[0]


@unforeseen("attention.module")
class Doubled(Variant):
    def forward(self, x):
        return 2 * super().forward(x)
