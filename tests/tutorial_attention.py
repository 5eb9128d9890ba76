"""Attention as tutorials and papers' authors write it; each keeps its weights in `SEEN` when it computes them."""

import math

import torch
import torch.nn.functional as F
from torch import nn

HEADS, WIDTH = 3, 24
SEEN: list[torch.Tensor] = []


def keep(weights: torch.Tensor) -> torch.Tensor:
    """(B, h, T, T) or (B, T, T), kept and returned."""
    SEEN.append(weights.data.clone())  # not by detach, behind which no model is tested
    return weights


class Attention(nn.Module):
    """All heads at once, by matrix products."""

    def __init__(self, heads: int = HEADS):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def project(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self.qkv(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)  # (B, h, T, d) each

    def forward(self, x):
        q, k, v = self.project(x)
        weights = keep((q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1))
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class ByEinsum(Attention):
    def forward(self, x):
        q, k, v = self.project(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1])
        weights = keep(torch.softmax(scores, dim=3))
        return self.out(torch.einsum("bhqk,bhkd->bqhd", weights, v).flatten(2))


class Fused(Attention):
    def forward(self, x):
        q, k, v = self.project(x)
        keep((q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class LoopOverHeads(Attention):
    def forward(self, x):
        q, k, v = self.project(x)
        scale = math.sqrt(q.shape[-1])
        parts = [(q[:, i] @ k[:, i].mT / scale).softmax(-1) @ v[:, i] for i in range(self.heads)]
        return self.out(torch.cat(parts, dim=2))


class LoopOverMatrices(Attention):
    """Image by image and head by head, (T, T) each."""

    def forward(self, x):
        rows = []
        for one in x:
            q, k, v = self.qkv(one).chunk(3, dim=1)
            heads = [each.chunk(self.heads, dim=1) for each in (q, k, v)]
            parts = [(a @ b.T / math.sqrt(a.shape[1])).softmax(1) @ c for a, b, c in zip(*heads, strict=True)]
            rows.append(torch.cat(parts, dim=1))
        return self.out(torch.stack(rows))


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(WIDTH, WIDTH // HEADS, bias=False) for _ in range(3))

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return keep((q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])).softmax(-1)) @ v


class ModuleForEachHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads, self.out = nn.ModuleList(Head() for _ in range(HEADS)), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.out(torch.cat([head(x) for head in self.heads], dim=2))


class NormForEachHead(ModuleForEachHead):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x):
        return self.out(torch.cat([head(self.norm(x)) for head in self.heads], dim=2))


class OwnNormForEachHead(ModuleForEachHead):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(HEADS))
        for norm in self.norms:
            nn.init.normal_(norm.weight)  # as after a training, so that the heads are given different tokens

    def forward(self, x):
        return self.out(torch.cat([head(norm(x)) for head, norm in zip(self.heads, self.norms, strict=True)], dim=2))


class WideHead(Head):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(WIDTH // HEADS, WIDTH)

    def forward(self, x):
        return self.out(super().forward(x))


class SumOfHeads(NormForEachHead):
    """Each head has its part of the output projection, so that its output looks like that of a layer."""

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList(WideHead() for _ in range(HEADS))

    def forward(self, x):
        return sum(head(self.norm(x)) for head in self.heads)


class HeadOfPart(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH // HEADS, 3 * (WIDTH // HEADS))

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=2)
        return keep((q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)) @ v


class OnParts(nn.Module):
    """One module for each head, which is given its part of the numbers of each token."""

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList(HeadOfPart() for _ in range(HEADS))

    def forward(self, x):
        return torch.cat([head(part) for head, part in zip(self.heads, x.chunk(HEADS, dim=2), strict=True)], dim=2)


class Lora(nn.Module):
    """A low-rank change of a linear layer (arXiv:2106.09685)."""

    def __init__(self, base: nn.Linear):
        super().__init__()
        self.base_layer = base
        self.lora_A, self.lora_B = (
            nn.Linear(base.in_features, 2, bias=False),
            nn.Linear(2, base.out_features, bias=False),
        )

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(x))
