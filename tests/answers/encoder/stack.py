"""Answers to exercise encoder.stack."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from answers import right, unforeseen, wrong


class Stack(nn.Module):
    """The right one, and the base of the wrong ones."""

    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__()
        self.blocks = nn.ModuleList(self.make(make_block, num_layers))
        self.norm = nn.LayerNorm(hidden_dim, eps=1e-6)

    def make(self, make_block, num_layers):
        return [make_block() for _ in range(num_layers)]

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


right("encoder.stack")(Stack)


@right("encoder.stack")
def one_sequential(make_block, num_layers, hidden_dim):
    return nn.Sequential(*(make_block() for _ in range(num_layers)), nn.LayerNorm(hidden_dim))


@right("encoder.stack")
class ByNames(nn.Module):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__()
        self.num_layers = num_layers
        for layer in range(num_layers):
            self.add_module(f"layer_{layer}", make_block())
        self.scale, self.shift = nn.Parameter(torch.ones(hidden_dim)), nn.Parameter(torch.zeros(hidden_dim))

    def forward(self, x):
        for layer in range(self.num_layers):
            x = getattr(self, f"layer_{layer}")(x)
        return F.layer_norm(x, self.scale.shape, self.scale, self.shift)


@right("encoder.stack")
class Recursive(nn.Module):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__()
        self.block = make_block()
        self.rest = Recursive(make_block, num_layers - 1, hidden_dim) if num_layers > 1 else nn.LayerNorm(hidden_dim)

    def forward(self, x):
        return self.rest(self.block(x))


@right("encoder.stack")
class LastMadeFirst(Stack):
    def forward(self, x):
        for block in reversed(self.blocks):
            x = block(x)
        return self.norm(x)


def _stack(slug, register=wrong, **methods):
    register("encoder.stack", slug)(type("Stack", (Stack,), methods))


def _after_every_block(self, x):
    for block in self.blocks:
        x = self.norm(block(x))
    return x


def _before_every_block(self, x):
    for block in self.blocks:
        x = block(self.norm(x))
    return x


def _before_and_at_the_end(self, x):
    return self.norm(_before_every_block(self, x))


def _only_blocks(self, x):
    for block in self.blocks:
        x = block(x)
    return x


def _with_residual(self, x):
    for block in self.blocks:
        x = x + block(x)
    return self.norm(x)


def _with_residual_alone(self, x):
    for block in self.blocks:
        x = x + block(x)
    return x


def _after_every_block_but(self, x):
    for block in self.blocks[:-1]:
        x = self.norm(block(x))
    return x


def _not_chained(self, x):
    for block in self.blocks:
        out = block(x)
    return self.norm(out)


def _one_again_and_again(self, x):
    for _ in self.blocks:
        x = self.blocks[0](x)
    return self.norm(x)


def _copies(self, make_block, num_layers):
    template = make_block()
    return [copy.deepcopy(template) for _ in range(num_layers)]


def _copies_of_each(self, make_block, num_layers):
    return [copy.deepcopy(make_block()) for _ in range(num_layers)]


def _faulty(self, make_block, num_layers):
    return [make_block()] * num_layers


right("encoder.stack")(type("Stack", (Stack,), {"make": _copies_of_each}))
_stack("same-block", make=_faulty)
_stack("same-block", make=_faulty, forward=_after_every_block)
_stack("norm-after-every-block", forward=_after_every_block)
_stack("copies-start-alike", make=_copies)
_stack("no-last-norm", forward=_only_blocks)
_stack("norm-first", forward=lambda self, x: _only_blocks(self, self.norm(x)))
_stack("norm-before-every-block", forward=_before_every_block)
_stack("norm-before-every-block", forward=_before_and_at_the_end)
_stack("residual-around-blocks", forward=_with_residual)
_stack("blocks-not-chained", forward=_not_chained)
_stack("blocks-not-chained", forward=lambda self, x: self.norm(sum(block(x) for block in self.blocks)))
_stack("first-block-only", forward=lambda self, x: self.norm(self.blocks[0](x)))
_stack("first-block-only", forward=_one_again_and_again)
_stack("no-block-used", forward=lambda self, x: self.norm(x))
_stack("one-block-less", make=lambda self, make_block, layers: [make_block() for _ in range(1, layers)])
_stack("one-block-more", make=lambda self, make_block, layers: [make_block() for _ in range(layers + 1)])
_stack("factory-not-called", make=lambda self, make_block, layers: [make_block] * layers)
_stack("list-as-one-module", make=lambda self, make_block, layers: [[make_block() for _ in range(layers)]])
_stack("no-blocks", make=lambda self, make_block, layers: [])
_stack("gradient-cut", forward=lambda self, x: Stack.forward(self, x.detach()))
_stack("random-in-evaluation", forward=lambda self, x: F.dropout(Stack.forward(self, x), 0.1))
_stack("stack-twice", forward=lambda self, x: self.norm(_only_blocks(self, _only_blocks(self, x))))
_stack("last-norm-twice", forward=lambda self, x: self.norm(Stack.forward(self, x)))
_stack("last-block-left-out", forward=lambda self, x: self.norm(nn.Sequential(*self.blocks[:-1])(x)))
_stack("first-block-left-out", forward=lambda self, x: self.norm(nn.Sequential(*self.blocks[1:])(x)))
_stack("blocks-not-chained", forward=lambda self, x: self.norm(self.blocks[-1](x)))
_stack("residual-around-stack", forward=lambda self, x: x + Stack.forward(self, x))
_stack("number-of-blocks-fixed", make=lambda self, make_block, layers: [make_block() for _ in range(3)])
_stack("factory-not-called", make=lambda self, make_block, layers: [make_block])
_stack("block-as-a-list", make=lambda self, make_block, layers: make_block())
_stack("batch-of-one", forward=lambda self, x: Stack.forward(self, x).squeeze())
_stack("list-called", forward=lambda self, x: self.norm(self.blocks(x)))
_stack("never-set", forward=lambda self, x: self.norm(self.layers(x)))
_stack("one-block", make=lambda self, make_block, layers: [make_block()])
_stack("number-of-blocks-fixed", make=lambda self, make_block, layers: [make_block(), make_block()])
_stack("twice-as-many-blocks", make=lambda self, make_block, layers: [make_block() for _ in range(2 * layers)])
_stack("wrong-number-of-blocks", make=lambda self, make_block, layers: [make_block() for _ in range(layers**2)])
_stack("factory-with-arguments", make=lambda self, make_block, layers: [make_block(i) for i in range(layers)])
_stack("number-as-a-list", make=lambda self, make_block, layers: layers)
_stack("norm-between-blocks", forward=lambda self, x: self.blocks[-1](_after_every_block_but(self, x)))
_stack("other-axes", forward=lambda self, x: Stack.forward(self, x)[:, 0])
_stack("no-last-norm-and-residual-around-blocks", forward=_with_residual_alone)
_stack("input-changed", forward=lambda self, x: Stack.forward(self, x.mul_(0.5)))


@wrong("encoder.stack", "no-last-norm")
def blocks_in_a_row(make_block, num_layers, hidden_dim):
    return nn.Sequential(*[make_block() for _ in range(num_layers)])


@wrong("encoder.stack", "list-as-one-module")
def list_handed_over(make_block, num_layers, hidden_dim):
    return nn.Sequential([make_block() for _ in range(num_layers)], nn.LayerNorm(hidden_dim))


@wrong("encoder.stack", "generator-as-one-module")
def generator_handed_over(make_block, num_layers, hidden_dim):
    return nn.Sequential((make_block() for _ in range(num_layers)), nn.LayerNorm(hidden_dim))


@wrong("encoder.stack", "norm-for-every-block")
def norm_each(make_block, num_layers, hidden_dim):
    pairs = [(make_block(), nn.LayerNorm(hidden_dim)) for _ in range(num_layers)]
    return nn.Sequential(*(part for pair in pairs for part in pair))


@wrong("encoder.stack", "norm-without-parameters")
def plain_norm(make_block, num_layers, hidden_dim):
    norm = nn.LayerNorm(hidden_dim, elementwise_affine=False)
    return nn.Sequential(*(make_block() for _ in range(num_layers)), norm)


@wrong("encoder.stack", "blocks-not-registered")
class PlainListOfBlocks(Stack):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__(make_block, 0, hidden_dim)
        del self.blocks
        self.blocks = [make_block() for _ in range(num_layers)]


@wrong("encoder.stack", "blocks-overwritten")
class Overwritten(nn.Module):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__()
        for _ in range(num_layers):
            self.block = make_block()
        self.norm = nn.LayerNorm(hidden_dim)

    def forward(self, x):
        return self.norm(self.block(x))


@wrong("encoder.stack", "generator-kept")
class GeneratorKept(Stack):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__(make_block, 0, hidden_dim)
        del self.blocks
        self.blocks = (make_block() for _ in range(num_layers))


@wrong("encoder.stack", "another-norm")
class WithAnotherNorm(Stack):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__(make_block, num_layers, hidden_dim)
        self.norm = nn.RMSNorm(hidden_dim)


@wrong("encoder.stack", "blocks-made-in-forward")
class MadeInForward(Stack):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__(make_block, 0, hidden_dim)
        self.new = lambda: [make_block() for _ in range(num_layers)]

    def forward(self, x):
        for block in self.new():
            x = block(x)
        return self.norm(x)


@wrong("encoder.stack", "unused-parameters")
class NormBiasForgotten(Stack):
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return F.layer_norm(x, self.norm.weight.shape, self.norm.weight, self.norm.bias.detach())


@unforeseen("encoder.stack")
class WithALinearLayer(Stack):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__(make_block, num_layers, hidden_dim)
        self.head = nn.Linear(hidden_dim, hidden_dim)


@wrong("encoder.stack", "other-in-training")
class DropoutBehind(Stack):
    def forward(self, x):
        return F.dropout(super().forward(x), 0.1, self.training)


@wrong("encoder.stack", "epsilon-too-large")
class LargeEpsilon(Stack):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__(make_block, num_layers, hidden_dim)
        self.norm = nn.LayerNorm(hidden_dim, eps=0.1)
