"""Answers to exercise encoder.stack."""

import copy

import torch
from torch import nn

from answers import UNKNOWN, Answers

answers = Answers("encoder.stack")

answers.edits(
    ("wrong-number-of-blocks", "range(num_layers)", "range(3)"),
    ("raised-error", "in self.blocks", "in self.layers"),
)


@answers.right
def sequential(make_block, num_layers, hidden_dim):
    return nn.Sequential(*(make_block() for _ in range(num_layers)), nn.LayerNorm(hidden_dim))


@answers.right
class Names(nn.Module):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__()
        self.num_layers = num_layers
        for layer in range(num_layers):
            self.add_module(f"layer_{layer}", make_block())
        self.scale = nn.Parameter(torch.ones(hidden_dim))
        self.shift = nn.Parameter(torch.zeros(hidden_dim))

    def forward(self, x):
        for layer in range(self.num_layers):
            x = getattr(self, f"layer_{layer}")(x)
        return nn.functional.layer_norm(x, self.scale.shape, self.scale, self.shift)


@answers.right
class Recursive(nn.Module):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__()
        self.block = make_block()
        self.rest = Recursive(make_block, num_layers - 1, hidden_dim) if num_layers > 1 else nn.LayerNorm(hidden_dim)

    def forward(self, x):
        return self.rest(self.block(x))


class Encoder(nn.Module):
    """The right module, of which each answer below replaces a method."""

    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__()
        self.blocks = self.make_blocks(make_block, num_layers)
        self.norm = nn.LayerNorm(hidden_dim, eps=1e-6)

    def make_blocks(self, make_block, num_layers):
        return nn.ModuleList(make_block() for _ in range(num_layers))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


@answers.wrong("still-faulty")
class Unrepaired(nn.Module):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__()
        self.blocks = nn.ModuleList([make_block()] * num_layers)
        self.norm = nn.LayerNorm(hidden_dim, eps=1e-6)

    def forward(self, x):
        for block in self.blocks:
            x = self.norm(block(x))
        return x


@answers.wrong("same-block")
class SameBlock(Encoder):
    def make_blocks(self, make_block, num_layers):
        return nn.ModuleList([make_block()] * num_layers)


@answers.wrong("norm-after-every-block")
class NormAfterEveryBlock(Encoder):
    def forward(self, x):
        for block in self.blocks:
            x = self.norm(block(x))
        return self.norm(x)


@answers.wrong("blocks-not-registered")
class PlainList(Encoder):
    def make_blocks(self, make_block, num_layers):
        return [make_block() for _ in range(num_layers)]


@answers.wrong("generator-kept")
class Generator(Encoder):
    def make_blocks(self, make_block, num_layers):
        return (make_block() for _ in range(num_layers))


@answers.wrong("copies-start-alike")
class Copies(Encoder):
    def make_blocks(self, make_block, num_layers):
        block = make_block()
        return nn.ModuleList(copy.deepcopy(block) for _ in range(num_layers))


@answers.wrong("blocks-made-in-forward")
class MadeInForward(nn.Module):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__()
        self.make_block, self.num_layers = make_block, num_layers
        self.norm = nn.LayerNorm(hidden_dim, eps=1e-6)

    def forward(self, x):
        for _ in range(self.num_layers):
            x = self.make_block()(x)
        return self.norm(x)


@answers.wrong("norm-without-parameters")
class NormNotLearned(Encoder):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__(make_block, num_layers, hidden_dim)
        self.norm = nn.LayerNorm(hidden_dim, elementwise_affine=False)


@answers.wrong("first-block-only")
class FirstBlock(Encoder):
    def forward(self, x):
        for _ in self.blocks:
            x = self.blocks[0](x)
        return self.norm(x)


@answers.wrong("no-last-norm-and-residual-around-blocks")
class ResidualForNorm(Encoder):
    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


@answers.wrong(UNKNOWN)
class WithHead(Encoder):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__(make_block, num_layers, hidden_dim)
        self.head = nn.Linear(hidden_dim, hidden_dim)
