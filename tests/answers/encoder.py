"""Answers to the exercises of chapter 05."""

import copy

import torch
import torch.nn.functional as F
from einops import reduce
from torch import nn

from answers import right, unforeseen, wrong
from vit_course import encoder
from vit_course.checks.draw import Draw

# ---- layer_norm


@right("encoder.layer_norm")
def from_torch(x, scale, shift, epsilon):
    return F.layer_norm(x, (x.shape[-1],), scale, shift, epsilon)


@right("encoder.layer_norm")
def with_var(x, scale, shift, epsilon):
    variance, mean = torch.var_mean(x, dim=2, unbiased=False, keepdim=True)
    return torch.rsqrt(variance + epsilon) * (x - mean) * scale + shift


@right("encoder.layer_norm")
def with_einops(x, scale, shift, epsilon):
    x = x - reduce(x, "b t d -> b t 1", "mean")
    return scale * x / (reduce(x**2, "b t d -> b t 1", "mean") + epsilon) ** 0.5 + shift


@right("encoder.layer_norm")
def with_loops(x, scale, shift, epsilon):
    out = torch.empty_like(x)
    for b, image in enumerate(x):
        for t, token in enumerate(image):
            mean = sum(token) / len(token)
            variance = sum((v - mean) ** 2 for v in token) / len(token)
            out[b, t] = (token - mean) / torch.sqrt(variance + epsilon) * scale + shift
    return out


@right("encoder.layer_norm")
def mean_of_squares(x, scale, shift, epsilon):
    mean = x.mean(-1, True)
    variance = (x * x).mean(-1, True) - mean * mean
    return torch.addcmul(shift, (x - mean) / (variance + epsilon).sqrt(), scale)


@right("encoder.layer_norm")
def as_groups(x, scale, shift, epsilon):
    return F.group_norm(x.flatten(0, 1), 1, eps=epsilon).view_as(x) * scale + shift


def _by(dim, **options):
    def norm(x, scale, shift, epsilon):
        mean, variance = x.mean(dim, keepdim=True), x.var(dim, keepdim=True, **({"correction": 0} | options))
        return (x - mean) / (variance + epsilon).sqrt() * scale + shift

    return norm


wrong("encoder.layer_norm", "norm-over-tokens")(_by(1))
wrong("encoder.layer_norm", "norm-over-images")(_by(0))
wrong("encoder.layer_norm", "batch-norm")(_by((0, 1)))
wrong("encoder.layer_norm", "one-mean-for-an-image")(_by((1, 2)))
wrong("encoder.layer_norm", "one-mean-for-all")(_by((0, 1, 2)))
wrong("encoder.layer_norm", "divided-by-one-less")(_by(-1, correction=1))


@wrong("encoder.layer_norm", "batch-norm")
def really_batch_norm(x, scale, shift, epsilon):
    return F.batch_norm(x.mT, None, None, scale, shift, training=True, eps=epsilon).mT


@wrong("encoder.layer_norm", "one-mean-for-an-image")
def whole_image(x, scale, shift, epsilon):
    return F.layer_norm(x, x.shape[1:], eps=epsilon) * scale + shift


@wrong("encoder.layer_norm", "epsilon-outside-root")
def outside(x, scale, shift, epsilon):
    return (x - x.mean(-1, True)) / (x.std(-1, correction=0, keepdim=True) + epsilon) * scale + shift


@wrong("encoder.layer_norm", "std-of-torch")
def defaults(x, scale, shift, epsilon):
    return (x - x.mean(-1, True)) / (x.std(-1, keepdim=True) + epsilon) * scale + shift


@wrong("encoder.layer_norm", "std-of-torch")
def from_the_chapter(x, scale, shift, epsilon):
    return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True) * scale + shift


@wrong("encoder.layer_norm", "epsilon-ignored")
def no_epsilon(x, scale, shift, epsilon):
    return (x - x.mean(-1, True)) / x.std(-1, correction=0, keepdim=True) * scale + shift


@wrong("encoder.layer_norm", "epsilon-ignored")
def fixed_epsilon(x, scale, shift, epsilon):
    return F.layer_norm(x, scale.shape, scale, shift, eps=1e-6)


@wrong("encoder.layer_norm", "no-scale-and-shift")
def nothing_after(x, scale, shift, epsilon):
    return F.layer_norm(x, scale.shape, eps=epsilon)


@wrong("encoder.layer_norm", "no-scale")
def shift_only(x, scale, shift, epsilon):
    return F.layer_norm(x, scale.shape, eps=epsilon) + shift


@wrong("encoder.layer_norm", "no-shift")
def scale_only(x, scale, shift, epsilon):
    return F.layer_norm(x, scale.shape, scale, eps=epsilon)


@wrong("encoder.layer_norm", "shift-before-scale")
def shifted_first(x, scale, shift, epsilon):
    return scale * (F.layer_norm(x, scale.shape, eps=epsilon) + shift)


@wrong("encoder.layer_norm", "scale-and-shift-swapped")
def swapped(x, scale, shift, epsilon):
    return F.layer_norm(x, scale.shape, shift, scale, epsilon)


@wrong("encoder.layer_norm", "not-centred")
def mean_kept(x, scale, shift, epsilon):
    return x / (x.var(-1, correction=0, keepdim=True) + epsilon).sqrt() * scale + shift


@wrong("encoder.layer_norm", "not-centred")
def rms(x, scale, shift, epsilon):
    return F.rms_norm(x, scale.shape, scale, epsilon) + shift


@wrong("encoder.layer_norm", "not-divided")
def centred_only(x, scale, shift, epsilon):
    return (x - x.mean(-1, keepdim=True)) * scale + shift


@wrong("encoder.layer_norm", "root-missing")
def by_variance(x, scale, shift, epsilon):
    return (x - x.mean(-1, True)) / (x.var(-1, correction=0, keepdim=True) + epsilon) * scale + shift


@wrong("encoder.layer_norm", "raised-error")
def axis_dropped(x, scale, shift, epsilon):
    return (x - x.mean(-1)) / (x.var(-1, correction=0) + epsilon).sqrt() * scale + shift


@wrong("encoder.layer_norm", "input-changed")
def in_place(x, scale, shift, epsilon):
    x -= x.mean(-1, keepdim=True)
    return x / (x.square().mean(-1, keepdim=True) + epsilon).sqrt() * scale + shift


@wrong("encoder.layer_norm", "gradient-cut")
def through_data(x, scale, shift, epsilon):
    return F.layer_norm(x.data, scale.shape, scale, shift, epsilon).detach()


@wrong("encoder.layer_norm", "hard-coded-size")
def one_width(x, scale, shift, epsilon):
    D = Draw(0).sizes(3, low=3)[2]  # of the first draw
    x = x - x.sum(-1, keepdim=True) / D
    return x / (x.square().sum(-1, keepdim=True) / D + epsilon).sqrt() * scale + shift


@unforeseen("encoder.layer_norm")
def mean_deviation(x, scale, shift, epsilon):
    x = x - x.mean(-1, keepdim=True)
    return x / (x.abs().mean(-1, keepdim=True) + epsilon) * scale + shift


@unforeseen("encoder.layer_norm")
def of_one_token(x, scale, shift, epsilon):
    return F.layer_norm(x, scale.shape, scale, shift, epsilon)[:, 0]


# ---- mlp


@right("encoder.mlp")
class FromPackage(encoder.MLP):
    pass


@right("encoder.mlp")
class FromPackageWithTanh(encoder.MLP):
    def __init__(self, hidden_dim, mlp_dim):
        super().__init__(hidden_dim, mlp_dim, dropout=0.2, gelu="tanh")


@right("encoder.mlp")
def in_a_row(hidden_dim, mlp_dim):
    return nn.Sequential(nn.Linear(hidden_dim, mlp_dim), nn.GELU(), nn.Linear(mlp_dim, hidden_dim))


@right("encoder.mlp")
class RawParameters(nn.Module):
    def __init__(self, D, M):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(D, M)), nn.Parameter(torch.zeros(D, M))
        self.c, self.d = nn.Parameter(torch.zeros(M)), nn.Parameter(torch.zeros(1, 1, D))

    def forward(self, x):
        inside = torch.einsum("btd,dm->btm", x, self.a) + self.c
        inside = inside * 0.5 * (1 + torch.erf(inside * 0.5**0.5))
        return torch.einsum("btm,dm->btd", inside, self.b) + self.d


@right("encoder.mlp")
class Convolutions(nn.Module):
    def __init__(self, D, M):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(D, M, 1), nn.GELU(), nn.Conv1d(M, D, 1, bias=False))

    def forward(self, x):
        return self.net(x.transpose(1, 2)).transpose(1, 2)


@right("encoder.mlp")
class WithoutBiases(nn.Module):
    def __init__(self, D, M):
        super().__init__()
        self.a, self.b = nn.Linear(D, M, bias=False), nn.Linear(M, D, bias=False)

    def forward(self, x):
        return torch.stack([self.b(F.gelu(self.a(token))) for token in x.unbind(1)], 1)


def _bent(before=nn.Identity, between=nn.Identity, after=nn.Identity):
    return lambda D, M: nn.Sequential(before(), nn.Linear(D, M), between(), nn.Linear(M, D), after())


wrong("encoder.mlp", "relu")(_bent(between=nn.ReLU))
wrong("encoder.mlp", "no-activation")(_bent())
wrong("encoder.mlp", "activation-last")(_bent(after=nn.GELU))
wrong("encoder.mlp", "activation-last")(_bent(after=nn.ReLU))
wrong("encoder.mlp", "activation-twice")(_bent(between=nn.GELU, after=nn.GELU))
wrong("encoder.mlp", "activation-first")(_bent(before=nn.GELU))
wrong("encoder.mlp", "silu")(_bent(between=nn.SiLU))
wrong("encoder.mlp", "sigmoid")(_bent(between=nn.Sigmoid))
wrong("encoder.mlp", "tanh")(_bent(between=nn.Tanh))
wrong("encoder.mlp", "inner-width-ignored")(lambda D, M: encoder.MLP(D, 4 * D))
wrong("encoder.mlp", "inner-width-ignored")(lambda D, M: encoder.MLP(D, D))
wrong("encoder.mlp", "widths-swapped")(lambda D, M: encoder.MLP(M, D))
wrong("encoder.mlp", "stays-wide")(lambda D, M: nn.Sequential(nn.Linear(D, M), nn.GELU()))
wrong("encoder.mlp", "norm-inside")(lambda D, M: nn.Sequential(nn.LayerNorm(D), encoder.MLP(D, M)))
wrong("encoder.mlp", "norm-inside")(
    lambda D, M: nn.Sequential(nn.Linear(D, M), nn.LayerNorm(M), nn.GELU(), nn.Linear(M, D))
)
wrong("encoder.mlp", "raised-error")(lambda D, M: nn.Sequential(nn.Linear(D, M), nn.GELU(), nn.Linear(D, M)))


class Functional(nn.Module):
    def __init__(self, D, M):
        super().__init__()
        self.first, self.second = nn.Linear(D, M), nn.Linear(M, D)

    def bend(self, x):
        return F.gelu(x)

    def forward(self, x):
        return self.second(self.bend(self.first(x)))


right("encoder.mlp")(Functional)


@wrong("encoder.mlp", "gelu-by-sigmoid")
class Quick(Functional):
    def bend(self, x):
        return x * torch.sigmoid(1.702 * x)


@wrong("encoder.mlp", "root-of-two-missing")
class NoRoot(Functional):
    def bend(self, x):
        return x * 0.5 * (1 + torch.erf(x))


@wrong("encoder.mlp", "phi-only")
class PhiOnly(Functional):
    def bend(self, x):
        return torch.distributions.Normal(0, 1).cdf(x)


@wrong("encoder.mlp", "random-in-evaluation")
class AlwaysDropped(Functional):
    def bend(self, x):
        return F.dropout(F.gelu(x), 0.5)


@wrong("encoder.mlp", "gradient-cut")
class Cut(Functional):
    def bend(self, x):
        return F.gelu(x.detach())


@wrong("encoder.mlp", "residual-inside")
class WithResidual(Functional):
    def forward(self, x):
        return x + super().forward(x)


@wrong("encoder.mlp", "tokens-mixed")
class OverTokens(Functional):
    def bend(self, x):
        return F.gelu(x).softmax(dim=1)


@wrong("encoder.mlp", "tokens-mixed")
class WideConvolution(Convolutions):
    def __init__(self, D, M):
        super().__init__(D, M)
        self.net = nn.Sequential(nn.Conv1d(D, M, 3, padding=1), nn.GELU(), nn.Conv1d(M, D, 1))


@wrong("encoder.mlp", "batch-mates-matter")
class OverImages(Functional):
    def bend(self, x):
        return F.gelu(x - x.mean(0))


@wrong("encoder.mlp", "one-matrix")
class Tied(nn.Module):
    def __init__(self, D, M):
        super().__init__()
        self.first = nn.Linear(D, M)

    def forward(self, x):
        return F.gelu(self.first(x)) @ self.first.weight


@wrong("encoder.mlp", "no-parameters")
class PlainList(nn.Module):
    def __init__(self, D, M):
        super().__init__()
        self.layers = [nn.Linear(D, M), nn.GELU(), nn.Linear(M, D)]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@wrong("encoder.mlp", "unused-parameters")
class BiasForgotten(Functional):
    def forward(self, x):
        return F.gelu(self.first(x)) @ self.second.weight.T


@wrong("encoder.mlp", "no-super-init")
class NoSuper(nn.Module):
    def __init__(self, D, M):
        self.first = nn.Linear(D, M)


@wrong("encoder.mlp", "input-changed")
class BentInPlace(Functional):
    def forward(self, x):
        return super().forward(x.mul_(2).div_(3))


@unforeseen("encoder.mlp")
class Negative(Functional):
    def forward(self, x):
        return -super().forward(x)


@unforeseen("encoder.mlp")
class ThreeLayers(Functional):
    def __init__(self, D, M):
        super().__init__(D, M)
        self.middle = nn.Linear(M, M)

    def bend(self, x):
        return F.gelu(self.middle(F.gelu(x)))


@unforeseen("encoder.mlp")
class BiasTwice(Functional):
    def bend(self, x):
        return F.gelu(x + self.first.bias)


# ---- block


class Block(nn.Module):
    """The right one, and the base of the wrong ones."""

    def __init__(self, hidden_dim, attention, mlp):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(hidden_dim, eps=1e-6), nn.LayerNorm(hidden_dim, eps=1e-6)
        self.attention, self.mlp = attention, mlp

    def forward(self, x):
        x = x + self.attention(self.n1(x))
        return x + self.mlp(self.n2(x))


right("encoder.block")(Block)


@right("encoder.block")
class WithRawNorms(nn.Module):
    def __init__(self, D, attention, mlp):
        super().__init__()
        self.branches = nn.ModuleList([attention, mlp])
        self.scales, self.shifts = nn.Parameter(torch.ones(2, D)), nn.Parameter(torch.zeros(2, 1, 1, D))

    def forward(self, x):
        for branch, scale, shift in zip(self.branches, self.scales, self.shifts, strict=True):
            variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
            x = branch((x - mean) / (variance + 1e-5).sqrt() * scale + shift) + x
        return x


@right("encoder.block")
class InARow(nn.Module):
    class Residual(nn.Sequential):
        def forward(self, x):
            return x + super().forward(x)

    def __init__(self, D, attention, mlp):
        super().__init__()
        self.net = nn.Sequential(*(self.Residual(nn.LayerNorm(D), branch) for branch in (attention, mlp)))

    def forward(self, x):
        return self.net(x)


@right("encoder.block")
class WithDropout(Block):
    def forward(self, x):
        x = x + F.dropout(self.attention(self.n1(x)), 0.1, self.training)
        return F.dropout(self.mlp(self.n2(x)), 0.1, self.training).add(x)


def _block(slug, forward):
    wrong("encoder.block", slug)(type("Block", (Block,), {"forward": forward}))


def _post(self, x):
    x = self.n1(x + self.attention(x))
    return self.n2(x + self.mlp(x))


def _residual_of_copy(self, x):
    x = self.n1(x)
    x = x + self.attention(x)
    x = self.n2(x)
    return x + self.mlp(x)


def _second_residual_of_copy(self, x):
    x = self.n2(x + self.attention(self.n1(x)))
    return x + self.mlp(x)


def _first_residual_of_copy(self, x):
    x = self.n1(x)
    x = x + self.attention(x)
    return x + self.mlp(self.n2(x))


def _swapped(self, x):
    x = x + self.mlp(self.n1(x))
    return x + self.attention(self.n2(x))


def _attention_twice_residual(self, x):
    x = x + (x + self.attention(self.n1(x)))
    return x + self.mlp(self.n2(x))


def _mlp_twice_residual(self, x):
    x = x + self.attention(self.n1(x))
    return x + (x + self.mlp(self.n2(x)))


def _both_twice(self, x):
    x = x + (x + self.attention(self.n1(x)))
    return x + (x + self.mlp(self.n2(x)))


def _in_place(self, x):
    x += self.attention(self.n1(x))
    return x + self.mlp(self.n2(x))


def _normed_branches(self, x):
    x = x + self.n1(self.attention(x))
    return x + self.n2(self.mlp(x))


def _attention_lost(self, x):
    y = x + self.attention(self.n1(x))
    return x + self.mlp(self.n2(y))


def _no_norm_for_mlp(self, x):
    x = x + self.attention(self.n1(x))
    return x + self.mlp(x)


def _always_dropped(self, x):
    return x + F.dropout(Block.forward(self, x) - x)


_block("residual-twice", _attention_twice_residual)
_block("residual-twice", _mlp_twice_residual)
_block("residual-twice", _both_twice)
_block("norm-after", _post)
_block("norm-on-branch-output", _normed_branches)
_block("no-residual", lambda self, x: self.mlp(self.n2(self.attention(self.n1(x)))))
_block(
    "no-residual-around-attention", lambda s, x: s.attention(s.n1(x)) + s.mlp(s.n2(s.attention(s.n1(x))))
)  # fmt: skip
_block("no-residual-around-mlp", lambda self, x: self.mlp(self.n2(x + self.attention(self.n1(x)))))
_block("residual-from-normalised", _residual_of_copy)
_block("residual-from-normalised", _first_residual_of_copy)
_block("residual-from-normalised", _second_residual_of_copy)
_block("branches-swapped", _swapped)
_block("parallel-branches", lambda self, x: x + self.attention(self.n1(x)) + self.mlp(self.n2(x)))
_block("attention-lost", _attention_lost)
_block("mlp-not-normed", _no_norm_for_mlp)
_block("attention-not-normed", lambda s, x: x + s.attention(x) + s.mlp(s.n2(x + s.attention(x))))
_block("no-norm", lambda self, x: x + self.attention(x) + self.mlp(x + self.attention(x)))
_block("one-branch-only", lambda self, x: x + self.attention(self.n1(x)))
_block("one-branch-only", lambda self, x: x + self.mlp(self.n2(x)))
_block("stream-unchanged", lambda self, x: x)
_block("norm-at-the-end", lambda self, x: self.n1(Block.forward(self, x)))
_block("random-in-evaluation", _always_dropped)
_block("input-changed", _in_place)
_block("gradient-cut", lambda self, x: Block.forward(self, x.detach()))
_block("returned-nothing", lambda self, x: None)


@wrong("encoder.block", "shared-norm")
class SharedNorm(Block):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.n2 = self.n1


@wrong("encoder.block", "norm-without-parameters")
class PlainNorms(Block):
    def __init__(self, hidden_dim, *branches):
        super().__init__(hidden_dim, *branches)
        self.n1 = self.n2 = nn.LayerNorm(hidden_dim, elementwise_affine=False)


@wrong("encoder.block", "norm-after")
class OneNormAfter(Block):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.n2 = self.n1

    forward = _post


@wrong("encoder.block", "batch-mates-matter")
class BatchNorm(Block):
    def __init__(self, hidden_dim, *branches):
        super().__init__(hidden_dim, *branches)
        self.b1, self.b2 = nn.BatchNorm1d(hidden_dim), nn.BatchNorm1d(hidden_dim)

    def n(self, norm, x):
        return norm(x.transpose(1, 2)).transpose(1, 2)

    def forward(self, x):
        x = x + self.attention(self.n(self.b1, x))
        return x + self.mlp(self.n(self.b2, x))


@wrong("encoder.block", "parts-not-registered")
class BranchesInAList(Block):
    def __init__(self, hidden_dim, attention, mlp):
        super().__init__(hidden_dim, None, None)
        self.branches = [attention, mlp]

    def forward(self, x):
        for norm, branch in zip((self.n1, self.n2), self.branches, strict=True):
            x = x + branch(norm(x))
        return x


@wrong("encoder.block", "unused-parameters")
class SpareParameter(Block):
    def __init__(self, hidden_dim, *branches):
        super().__init__(hidden_dim, *branches)
        self.n2 = nn.LayerNorm(hidden_dim, bias=False)
        self.spare = nn.Parameter(torch.zeros(hidden_dim))

    def forward(self, x):
        x = x + self.attention(self.n1(x))
        return x + self.mlp(self.n2(x) + self.spare.detach())


@unforeseen("encoder.block")
class ThirdNorm(Block):
    def __init__(self, hidden_dim, *branches):
        super().__init__(hidden_dim, *branches)
        self.spare = nn.LayerNorm(hidden_dim)


@unforeseen("encoder.block")
class Subtracted(Block):
    def forward(self, x):
        x = x - self.attention(self.n1(x))
        return x - self.mlp(self.n2(x))


# ---- stack


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


def _faulty(self, make_block, num_layers):
    return [make_block()] * num_layers


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
_stack("raised-error", forward=lambda self, x: self.norm(self.blocks(x)))
_stack("input-changed", forward=lambda self, x: Stack.forward(self, x.mul_(0.5)))


@wrong("encoder.stack", "no-last-norm")
def blocks_in_a_row(make_block, num_layers, hidden_dim):
    return nn.Sequential(*[make_block() for _ in range(num_layers)])


@wrong("encoder.stack", "list-as-one-module")
def list_handed_over(make_block, num_layers, hidden_dim):
    return nn.Sequential([make_block() for _ in range(num_layers)], nn.LayerNorm(hidden_dim))


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
class Twice(Stack):
    def forward(self, x):
        return self.norm(_only_blocks(self, _only_blocks(self, x)))


@unforeseen("encoder.stack")
class WithALinearLayer(Stack):
    def __init__(self, make_block, num_layers, hidden_dim):
        super().__init__(make_block, num_layers, hidden_dim)
        self.head = nn.Linear(hidden_dim, hidden_dim)


# ---- predict

PREDICTIONS = {
    "equal_numbers": "zeros",
    "pre_norm_plus_5": "plus 5",
    "post_norm_plus_5": "other",
    "pre_norm_times_10": "other",
    "silent_without_residuals": "zeros",
    "tokens_moved": 1,
    "survivor": 2.5,
}


@right("encoder.predict")
def from_thought():
    return PREDICTIONS


@right("encoder.predict")
def with_capitals():
    words = {name: f" {value.title()} " if isinstance(value, str) else value for name, value in PREDICTIONS.items()}
    return words | {"survivor": 1 / (1 - 0.6)}


@right("encoder.predict")
def partly_measured():
    equal = F.layer_norm(torch.full((8,), 7.0), (8,))
    survivor = nn.Dropout(0.6)(torch.ones(100)).max()
    return PREDICTIONS | {
        "equal_numbers": "zeros" if not equal.any() else "other",
        "survivor": survivor,
        "tokens_moved": torch.tensor(1),
    }


def _predict(exercise_mistake, **changes):
    wrong("encoder.predict", exercise_mistake)(lambda: PREDICTIONS | changes)


_predict("norm-gives-ones", equal_numbers="ones")
_predict("norm-lets-mean-through", equal_numbers="sevens")
_predict("epsilon-forgotten", equal_numbers="NaN")
_predict("stream-forgotten", pre_norm_plus_5="same")
_predict("branch-sees-the-mean", pre_norm_plus_5="other")
_predict("branch-input-forgotten", post_norm_plus_5="same")
_predict("norm-lets-mean-through", post_norm_plus_5="plus 5")
_predict("stream-forgotten", pre_norm_times_10="same")
_predict("branch-sees-the-length", pre_norm_times_10="times 10")
_predict("residual-still-there", silent_without_residuals="same")
_predict("silent-branch-speaks", silent_without_residuals="other")
_predict("tokens-meet", tokens_moved=7)
_predict("nothing-moves", tokens_moved=0)
_predict("one-for-each-block", tokens_moved=2)
_predict("changed-token-left-out", tokens_moved=6)
_predict("float-count", tokens_moved=1.0)
_predict("survivors-unchanged", survivor=1)
_predict("survivors-multiplied", survivor=0.4)
_predict("divided-by-p", survivor=1.667)
_predict("all-dropped", survivor=0.0)
_predict("no-such-option", equal_numbers="a seven")
wrong("encoder.predict", "wrong-keys")(lambda: {"equal_numbers": "zeros"})
unforeseen("encoder.predict")(lambda: PREDICTIONS | {"survivor": 3.1})
unforeseen("encoder.predict")(lambda: PREDICTIONS | {"tokens_moved": 5})
