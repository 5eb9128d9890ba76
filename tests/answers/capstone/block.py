"""Answers to exercise capstone.block."""

import torch
import torch.nn.functional as F
from torch import nn

from answers import right, unforeseen, wrong
from vit_course.attention import SelfAttention
from vit_course.encoder import MLP, EncoderBlock


@right("capstone.block")
class Finished(EncoderBlock):
    pass


@right("capstone.block")
class FromTorch(nn.TransformerEncoderLayer):
    def __init__(self, D, h, M):
        super().__init__(D, h, M, activation="gelu", batch_first=True, norm_first=True)


class Block(nn.Module):
    def __init__(self, D, h, M):
        super().__init__()
        self.a, self.m = SelfAttention(D, h, qkv_bias=False), MLP(D, M)
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)

    def forward(self, x):
        y = self.a(self.n1(x)) + x
        return self.m(self.n2(y)) + y


right("capstone.block")(Block)


@right("capstone.block")
class NoBiasInAttention(Block):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.a.projection = nn.Linear(D, D, bias=False)


def block_variant(mistake):
    def register(forward):
        return wrong("capstone.block", mistake)(type(forward.__name__, (Block,), {"forward": forward}))

    return register


@block_variant("post-norm")
def post(self, x):
    x = self.n1(x + self.a(x))
    return self.n2(x + self.m(x))


@block_variant("no-residual")
def bare(self, x):
    return self.m(self.n2(self.a(self.n1(x))))


@block_variant("residual-from-norm")
def normed(self, x):
    x = self.n1(x)
    x = self.n2(x + self.a(x))
    return x + self.m(x)


@block_variant("residual-twice")
def twice(self, x):
    x = x + (x + self.a(self.n1(x)))
    return x + (x + self.m(self.n2(x)))


@block_variant("mlp-first")
def swapped(self, x):
    x = x + self.m(self.n1(x))
    return x + self.a(self.n2(x))


@block_variant("parallel")
def parallel(self, x):
    return x + self.a(self.n1(x)) + self.m(self.n2(x))


@block_variant("no-norm")
def no_norm(self, x):
    x = x + self.a(x)
    return x + self.m(x)


@block_variant("no-second-residual")
def half_residual(self, x):
    x = x + self.a(self.n1(x))
    return self.m(self.n2(x))


@wrong("capstone.block", "relu")
class Relu(nn.TransformerEncoderLayer):
    def __init__(self, D, h, M):
        super().__init__(D, h, M, batch_first=True, norm_first=True)


@wrong("capstone.block", "shared-norm")
class SharedNorm(Block):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.n2 = self.n1


@wrong("capstone.block", "no-mlp")
class NoMLP(Block):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.a, self.m = SelfAttention(D, h), nn.Identity()


@wrong("capstone.block", "no-activation")
class Linear(Block):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.m = nn.Sequential(nn.Linear(D, M), nn.Linear(M, D))


@unforeseen("capstone.block")
class Halved(Block):
    def forward(self, x):
        return super().forward(x) / 2


@unforeseen("capstone.block")
class Wider(Block):
    def __init__(self, D, h, M):
        super().__init__(D, h, 2 * M)


# ---- right ones in other forms


class ByHand(nn.Module):
    """Raw parameters, x @ W, a norm of one's own, the tanh form of GELU."""

    def __init__(self, D, h, M):
        super().__init__()
        self.h = h
        self.w, self.o = nn.Parameter(torch.randn(D, 3 * D) / 9), nn.Parameter(torch.randn(D, D) / 9)
        self.g = nn.Parameter(torch.ones(2, 1, D))
        self.s = nn.Parameter(torch.zeros(2, 1, D))
        self.a, self.b = nn.Parameter(torch.randn(D, M) / 9), nn.Parameter(torch.zeros(M))
        self.c, self.d = nn.Parameter(torch.randn(M, D) / 9), nn.Parameter(torch.zeros(D))
        self.p = nn.Parameter(torch.zeros(D))

    def norm(self, x, i):
        x = x - x.mean(-1, keepdim=True)
        return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * self.g[i] + self.s[i]

    def attend(self, x):
        q, k, v = (z.unflatten(2, (self.h, -1)).transpose(1, 2) for z in (x @ self.w).chunk(3, -1))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2) @ self.o + self.p

    def mlp(self, x):
        return F.gelu(x @ self.a + self.b, approximate="tanh") @ self.c + self.d

    def forward(self, x):
        x = x + self.attend(self.norm(x, 0))
        return x + self.mlp(self.norm(x, 1))


right("capstone.block")(ByHand)


@right("capstone.block")
class WithDropout(nn.TransformerEncoderLayer):
    def __init__(self, D, h, M):
        super().__init__(
            D, h, M, dropout=0.2, activation=F.gelu, batch_first=True, norm_first=True, layer_norm_eps=1e-6
        )


@right("capstone.block")
class Separate(Block):
    """Queries, keys and values apart, by PyTorch's module with biases."""

    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.a = nn.MultiheadAttention(D, h, batch_first=True)

    def forward(self, x):
        y = self.n1(x)
        x = x + self.a(y, y, y)[0]
        return x + self.m(self.n2(x))


# ---- wrong ones


@block_variant("norm-unused")
def first_norm_twice(self, x):
    x = x + self.a(self.n1(x))
    return x + self.m(self.n1(x))


@block_variant("no-first-residual")
def no_first_residual(self, x):
    x = self.a(self.n1(x))
    return x + self.m(self.n2(x))


@block_variant("norm-after-branch")
def norm_after(self, x):
    x = x + self.n1(self.a(x))
    return x + self.n2(self.m(x))


@block_variant("no-norm")
def no_second_norm(self, x):
    x = x + self.a(self.n1(x))
    return x + self.m(x) + 0 * self.n2(x)


@block_variant("residual-from-norm")
def second_residual_from_norm(self, x):
    x = x + self.a(self.n1(x))
    y = self.n2(x)
    return y + self.m(y)


@block_variant("residual-from-norm")
def post_norm_first_branch(self, x):
    x = self.n1(x + self.a(x))
    return x + self.m(self.n2(x))


@block_variant("random-result")
def dropout_left_on(self, x):
    x = x + F.dropout(self.a(self.n1(x)), 0.1)
    return x + self.m(self.n2(x))


@block_variant("batch-of-one")
def squeezed(self, x):
    x = x + self.a(self.n1(x))
    return (x + self.m(self.n2(x))).squeeze(0)


@block_variant("gradient-cut")
def cut(self, x):
    x = x + self.a(self.n1(x)).detach()
    return x + self.m(self.n2(x))


@block_variant("branch-twice")
def attention_twice(self, x):
    x = x + self.a(self.n1(x))
    x = x + self.a(self.n1(x))
    return x + self.m(self.n2(x))


@wrong("capstone.block", "not-gelu")
class SiLU(Block):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.m = nn.Sequential(nn.Linear(D, M), nn.SiLU(), nn.Linear(M, D))


@wrong("capstone.block", "gelu-at-the-end")
class GeluAtTheEnd(Block):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.m = nn.Sequential(nn.Linear(D, M), nn.GELU(), nn.Linear(M, D), nn.GELU())
