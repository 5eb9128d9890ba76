"""Answers to exercise capstone.attention."""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

from answers import UNKNOWN, Answers
from vit_course.attention import SelfAttention

answers = Answers("capstone.attention")

answers.edits(
    ("softmax-over-queries", "softmax(dim=-1)", "softmax(dim=-2)"),
    ("sqrt-of-hidden-width", "q.shape[-1] ** 0.5", "x.shape[-1] ** 0.5"),
    ("one-head", "= num_heads", "= 1"),
    ("other-shapes", "3 * hidden_dim", "2 * hidden_dim"),
    (UNKNOWN, "q @ k", "v @ k"),
)
answers.right(SelfAttention)


class Layers(nn.Module):
    def __init__(self, D, h):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(D, 3 * D)
        self.projection = nn.Linear(D, D)

    def cut(self, x):
        return rearrange(self.qkv(x), "b t (three h d) -> three b h t d", three=3, h=self.h)


@answers.right
class ByEinsum(Layers):
    def forward(self, x):
        q, k, v = self.cut(x)
        weights = torch.einsum("bhtd,bhsd->bhts", q, k).div(q.shape[-1] ** 0.5).softmax(dim=-1)
        return self.projection((weights @ v).transpose(1, 2).flatten(2))


@answers.right
class Slices(Layers):
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        out = []
        for one in torch.arange(x.shape[-1]).chunk(self.h):
            scores = q[..., one] @ k[..., one].mT / len(one) ** 0.5
            out.append(scores.softmax(-1) @ v[..., one])
        return self.projection(torch.cat(out, dim=-1))


@answers.right
class Einops(Layers):
    def forward(self, x):
        out = F.scaled_dot_product_attention(*self.cut(x))
        return self.projection(rearrange(out, "b h t d -> b t (h d)"))


@answers.right
class NamedLayerInSequential(Layers):
    def __init__(self, D, h):
        super().__init__(D, h)
        self.end = nn.Sequential(self.projection, nn.Dropout(0.1))

    def forward(self, x):
        out = F.scaled_dot_product_attention(*self.cut(x))
        return self.end(rearrange(out, "b h t d -> b t (h d)"))


@answers.wrong("other-names")
class LayerInSequential(Layers):
    def __init__(self, D, h):
        super().__init__(D, h)
        self.projection = nn.Sequential(nn.Linear(D, D), nn.Dropout(0.1))

    def forward(self, x):
        out = F.scaled_dot_product_attention(*self.cut(x))
        return self.projection(rearrange(out, "b h t d -> b t (h d)"))


@answers.wrong("layer-of-the-library")
class Library(nn.Module):
    def __init__(self, D, h):
        super().__init__()
        self.inner = nn.MultiheadAttention(D, h, batch_first=True)

    def forward(self, x):
        return self.inner(x, x, x, need_weights=False)[0]


@answers.wrong("scale-by-d-and-softmax-over-queries")
class TwoMistakes(Layers):
    def forward(self, x):
        q, k, v = self.cut(x)
        weights = (q @ k.mT / q.shape[-1]).softmax(dim=-2)
        return self.projection((weights @ v).transpose(1, 2).flatten(2))


@answers.wrong("merged-by-bare-reshape")
class Reshaped(Layers):
    def forward(self, x):
        return self.projection(F.scaled_dot_product_attention(*self.cut(x)).reshape(x.shape))
