"""Answers to exercise capstone.attention."""

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

from answers import right, wrong
from vit_course.attention import AttentionHead, SelfAttention


@right("capstone.attention")
class Finished(SelfAttention):
    pass


@right("capstone.attention")
class Heads(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        self.heads = nn.ModuleList(AttentionHead(hidden_dim, hidden_dim // num_heads) for _ in range(num_heads))
        self.mix = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x):
        return self.mix(torch.cat([head(x)[0] for head in self.heads], dim=-1))


@right("capstone.attention")
class FromTorch(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        self.inner = nn.MultiheadAttention(hidden_dim, num_heads, batch_first=True)

    def forward(self, x):
        return self.inner(x, x, x, need_weights=False)[0]


@right("capstone.attention")
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


right("capstone.attention")(Variant)


@wrong("capstone.attention", "softmax-over-queries")
class OverQueries(Variant):
    dim = -2


@wrong("capstone.attention", "no-projection")
class NoProjection(Variant):
    project = False


@wrong("capstone.attention", "tokens-mixed")
class Bare(Variant):
    split = "bare"


@right("capstone.attention")  # another order of the same numbers: as good, with parameters of one's own
class Interleaved(Variant):
    split = "interleaved"


@wrong("capstone.attention", "no-scale")
class NoScale(Variant):
    def divisor(self, q, x):
        return 1.0


@wrong("capstone.attention", "sqrt-of-hidden-width")
class RootOfHidden(Variant):
    def divisor(self, q, x):
        return math.sqrt(x.shape[-1])


@wrong("capstone.attention", "scale-by-d")
class ByWidth(Variant):
    def divisor(self, q, x):
        return q.shape[-1]


@wrong("capstone.attention", "shared-query-key")
class OneMatrix(nn.Module):
    def __init__(self, D, h):
        super().__init__()
        self.h, self.qkv, self.out = h, nn.Linear(D, D), nn.Linear(D, D)

    def forward(self, x):
        q = rearrange(self.qkv(x), "b t (h d) -> b h t d", h=self.h)
        return self.out(rearrange(F.scaled_dot_product_attention(q, q, q), "b h t d -> b t (h d)"))


@wrong("capstone.attention", "no-parameters")
class PlainList(nn.Module):
    def __init__(self, D, h):
        super().__init__()
        self.layers = [nn.Linear(D, D) for _ in range(4)]
        self.h = h

    def forward(self, x):
        q, k, v = (rearrange(layer(x), "b t (h d) -> b h t d", h=self.h) for layer in self.layers[:3])
        return self.layers[3](rearrange(F.scaled_dot_product_attention(q, k, v), "b h t d -> b t (h d)"))


@wrong("capstone.attention", "no-super-init")
class NoSuper(nn.Module):
    def __init__(self, D, h):
        self.qkv = nn.Linear(D, 3 * D)


@wrong("capstone.attention", "batch-mates-matter")
class BatchFirstForgotten(nn.Module):
    def __init__(self, D, h):
        super().__init__()
        self.inner = nn.MultiheadAttention(D, h)

    def forward(self, x):
        return self.inner(x, x, x, need_weights=False)[0]


# ---- right ones in other forms


class PerHead(nn.Module):
    """Lists of small layers, joined head by head."""

    def __init__(self, D, h):
        super().__init__()
        d = D // h
        self.q, self.k, self.v = (nn.ModuleList(nn.Linear(D, d, bias=False) for _ in range(h)) for _ in range(3))
        self.o = nn.ModuleList(nn.Linear(d, D, bias=False) for _ in range(h))
        self.shift = nn.Parameter(torch.zeros(D))

    def forward(self, x):
        outs = 0
        for q, k, v, o in zip(self.q, self.k, self.v, self.o, strict=True):
            weights = (q(x) @ k(x).mT / q.out_features**0.5).softmax(-1)
            outs = outs + o(weights @ v(x))
        return outs + self.shift


right("capstone.attention")(PerHead)


class Einsum(nn.Module):
    """One parameter for queries, keys and values, with biases of shape (3, h, 1, d)."""

    def __init__(self, D, h):
        super().__init__()
        self.w, self.b = nn.Parameter(torch.randn(3, h, D, D // h)), nn.Parameter(torch.zeros(3, h, 1, D // h))
        self.o, self.c = nn.Parameter(torch.randn(h, D // h, D)), nn.Parameter(torch.zeros(D))

    def weights(self, q, k):
        return (torch.einsum("bhtd,bhsd->bhts", q, k) / q.shape[-1] ** 0.5).softmax(-1)

    def parts(self, x):
        return (torch.einsum("btD,nhDd->nbhtd", x, self.w) + self.b[:, None]).unbind(0)

    def forward(self, x):
        q, k, v = self.parts(x)
        return torch.einsum("bhts,bhsd,hdD->btD", self.weights(q, k), v, self.o) + self.c


right("capstone.attention")(Einsum)


@right("capstone.attention")
class EveryHth(nn.Module):
    """Heads cut as every h-th number of a fused layer and joined the same way, head by head."""

    def __init__(self, D, h):
        super().__init__()
        self.h, self.qkv, self.o = h, nn.Linear(D, 3 * D), nn.Linear(D, D)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        out = torch.zeros_like(x)
        for i in range(self.h):
            one = slice(i, None, self.h)
            scores = q[..., one] @ k[..., one].mT
            out[..., one] = F.softmax(scores / math.sqrt(x.shape[-1] // self.h), dim=-1) @ v[..., one]
        return self.o(out)


@right("capstone.attention")
class FusedOtherOrder(nn.Module):
    """Values first, numbers of a head side by side: (h, d, 3) in one layer; the projection without a bias."""

    def __init__(self, D, h):
        super().__init__()
        self.h, self.all, self.o = h, nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D, bias=False)

    def forward(self, x):
        v, k, q = rearrange(self.all(x), "b t (h d n) -> n b h t d", h=self.h, n=3)
        return self.o(rearrange(F.scaled_dot_product_attention(q, k, v), "b h t d -> b t (d h)"))


@right("capstone.attention")
class OneParameter(nn.Module):
    """All four matrices in one parameter (4, D, D)."""

    def __init__(self, D, h):
        super().__init__()
        self.h, self.w = h, nn.Parameter(torch.randn(4, D, D))

    def forward(self, x):
        q, k, v = ((x @ w).unflatten(2, (self.h, -1)).transpose(1, 2) for w in self.w[:3])
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2) @ self.w[3]


@right("capstone.attention")
class Dropout(Variant):
    """With dropout in training, as MLPs and attentions of libraries have it."""

    def forward(self, x):
        return F.dropout(super().forward(x), 0.1, self.training)


@wrong("capstone.attention", "weights-returned")
class WeightsReturned(nn.Module):
    def __init__(self, D, h):
        super().__init__()
        self.attention = nn.MultiheadAttention(D, h, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)[1]
