"""Whether blocks are pre-norm blocks: one by itself, or all those of a whole model with a norm behind them.

What attention, MLP and norms do is found first; then the output is compared with what they should give, and, where it
is another one, with what they give when one step is replaced.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import torch
import torch.nn.functional as F

from vit_course.checks.report import Wrong
from vit_course.checks.tools.heads import Vectors, attend, close, heads_of, name_the_slip
from vit_course.checks.tools.mistakes import Slip, wrong_functions
from vit_course.checks.tools.parts import Branch, Norm, Parts, normed
from vit_course.checks.tools.roles import Head, Roles
from vit_course.checks.tools.rows_of_blocks import run as run_in_a_row
from vit_course.checks.tools.rows_of_blocks import slips
from vit_course.checks.tools.tensors import equal


def _gelu(x: torch.Tensor, first: Callable, second: Callable) -> torch.Tensor:
    return second(F.gelu(first(x)))


def _tanh_gelu(x: torch.Tensor, first: Callable, second: Callable) -> torch.Tensor:
    return second(F.gelu(first(x), approximate="tanh"))


def _pre_norm(z: torch.Tensor, a: Callable, m: Callable, n: Callable, k: Callable) -> torch.Tensor:
    y = z + a(n(z))
    return y + m(k(y))


@dataclass(frozen=True)
class Blocks:
    """What was found, and what it gives for tokens.

    Args:
        parts: of the learner's module.
        row: all its numbers.
        x: (1, T, D), the tokens.
        layers: of each block, as they run: which attention, that attention, and the MLP.
        norm: behind all blocks; None for a block by itself.
        gelu: the form of it.
        shift, inner_bias, last_bias: what the attention adds last, and where the MLP's biases lie; none, unless told.
    """

    parts: Parts
    row: torch.Tensor
    x: torch.Tensor
    layers: Sequence[tuple[int, Branch, Branch]]
    norm: Norm | None
    gelu: Callable = _gelu
    shift: torch.Tensor | float = 0.0
    inner_bias: torch.Tensor | None = None
    last_bias: torch.Tensor | None = None

    def vectors(self, found: Sequence[Sequence[Head]]) -> list[list[Vectors]]:
        """The numbers of the heads of each attention."""
        return [[Vectors.of(head, self.row) for head in heads] for heads in found]

    def run(self, heads: Sequence[Sequence[Vectors]], around: Callable = run_in_a_row, **steps) -> torch.Tensor:
        """(D,): the token that is looked at.

        Args:
            heads: of each attention, as the attentions were found.
            around: what the blocks are run by.
            steps: of a block, or of `attend`.
        """

        def block(number, attention, mlp):
            return lambda z: self._block(z, heads[number], attention.norm, mlp, **steps)

        blocks = [block(*layer) for layer in self.layers]

        def last(z, eps=1e-6):
            return self._normed(z, self.norm, lambda z: F.layer_norm(z, z.shape[-1:], eps=eps)) if self.norm else z

        return around(self.x, blocks, last)[0, self.parts.asker]

    def _block(self, z, heads, attention_norm, branch, way=_pre_norm, mlp=None, norm=normed, **steps) -> torch.Tensor:
        def a(z):
            return attend(heads, z, **steps) + self.shift

        def m(z):
            return (mlp or self.gelu)(z, first, second)

        def first(z):
            return z @ narrow.T + (0 if self.inner_bias is None else self.row[self.inner_bias])

        def second(z):
            return z @ wide.T + (0 if self.last_bias is None else self.row[self.last_bias])

        wide, narrow = (self.row[matrix].squeeze() for matrix in branch.matrices)
        wide = wide if wide.shape[0] == self.parts.width else wide.T
        narrow = narrow if narrow.shape[1] == self.parts.width else narrow.T
        return way(z, a, m, *(lambda z, one=one: self._normed(z, one, norm) for one in (attention_norm, branch.norm)))

    def _normed(self, z: torch.Tensor, norm: Norm | None, function: Callable = normed) -> torch.Tensor:
        return function(z) * self.row[norm.scale] + self.row[norm.shift] if norm else function(z)


def pre_norm_blocks(parts: Parts, number: int, draw) -> tuple[Blocks, list[list[Head]]]:
    """What was found; raises `Wrong` unless the output is that of pre-norm blocks and of the norm behind them.

    Args:
        parts: of the learner's module.
        number: of heads.
        draw: of the check.
    """
    branches = parts.branches(draw)
    last = parts.find_norms(branches, draw)
    attentions, mlps = parts.by_kind(branches, number)
    parts.complete([*attentions, *mlps], last)
    roles = [parts.roles(branch, draw) for branch in attentions]
    found = [heads_of(one, parts.width, number) for one in roles]
    x = draw.normal(1, parts.tokens, parts.width)

    def row() -> torch.Tensor:
        return parts.drawn(parts.plain_row(), parts.matrices, draw, gain=1.5)

    layers = list(zip(range(len(attentions)), attentions, mlps, strict=True))
    norms = [last] * (last is not None) + [branch.norm for branch in (*attentions, *mlps)]
    plain = Blocks(parts, row(), 3 * x, [(n, replace(a, norm=None), replace(m, norm=None)) for n, a, m in layers], last)
    _same(plain, roles, found, number)
    if None in norms or len({norm.scale[0].item() for norm in norms}) < len(norms):
        sentence = "Not every attention and MLP has its own norm with a learned scale and a learned shift."
        raise Wrong("shared-norm", sentence)
    scaled = row()
    for norm in norms:
        scaled[norm.scale], scaled[norm.shift] = 1 + 0.3 * draw.normal(parts.width), draw.normal(parts.width)
    return _same(replace(plain, row=scaled, layers=layers), roles, found, number), found


def _same(blocks: Blocks, roles: Sequence[Roles], found: Sequence[Sequence[Head]], number: int) -> Blocks:
    received = blocks.parts.out(blocks.row, blocks.x[0])
    if all(found):
        vectors = blocks.vectors(found)
        fits = (one for one in _arrangements(blocks) if close(received, one.run(vectors)))
        if one := next(fits, None):
            return one
    named = _named(blocks, roles, number, received)
    sentence = "The output is not what the attention, the MLPs and the norms should compute from the tokens."
    if all(found):
        mistake, sentence, details = named or ("wrong-values", sentence, [])
        equal(received, blocks.run(blocks.vectors(found)), mistake, sentence, axes="(D)", context=details)
    if named:
        raise Wrong(*named)
    details = ["Expected: heads that work independently", f"Received: {roles[0].described()}"]
    raise Wrong("wrong-behaviour", sentence, details)


def _arrangements(blocks: Blocks) -> Iterator[Blocks]:
    # All orders of attentions and of MLPs, that of the parameters first, with both forms of GELU.
    for first in permutations(blocks.layers):
        for second in permutations([mlp for *_, mlp in blocks.layers]):
            layers = [(n, attention, mlp) for (n, attention, _), mlp in zip(first, second, strict=True)]
            yield from (replace(blocks, layers=layers, gelu=gelu) for gelu in (_gelu, _tanh_gelu))


def _named(blocks: Blocks, roles: Sequence[Roles], number: int, received: torch.Tensor):
    inner = wrong_functions(MISTAKES, lambda run, heads, **steps: run(heads, **steps), pairs=0)
    outer = [replace(slip, function=_around(slip.function)) for slip in slips()] if blocks.norm else []
    width, around = blocks.parts.width, {slip.sentence for slip in outer}
    no_mlp, nothing = blocks.row.clone(), blocks.row.clone()
    for *_, attention, mlp in blocks.layers:
        for matrix in mlp.matrices:
            no_mlp[matrix] = nothing[matrix] = 0
        for matrix in attention.matrices:
            nothing[matrix] = 0
    # The attention first by itself, where it acts without the MLP: beside what is wrong with it, that may be wrong too.
    alone, bare = (blocks.parts.out(row, blocks.x[0]) for row in (no_mlp, nothing))
    for one, given, slips_around in (
        *([] if close(alone, bare) else [(replace(blocks, row=no_mlp), alone, [])]),
        (blocks, received, [*inner, *outer]),
        (replace(blocks, gelu=_tanh_gelu), received, [*inner, *outer]),
    ):

        def run(cut, one=one, **steps):
            return one.run(one.vectors(cut), **steps)

        if named := name_the_slip(roles, width, number, run, given, slips_around):
            slug, sentence, details = named
            inside = blocks.parts.inside if sentence not in around else ""
            return slug, inside + (sentence[0].lower() + sentence[1:] if inside else sentence), details
    return None


def _around(function: Callable) -> Callable:
    return lambda run, heads: run(heads, around=function)


# The slips of a pre-norm block, one beside the other: z goes in; a and m are attention and MLP, n and k their norms.
MISTAKES = {
    "way": [
        Slip("mlp-first", "The MLP comes before the attention.", lambda z, a, m, n, k: (y := z + m(k(z))) + a(n(y))),
        Slip(
            "parallel",
            "Both branches read the block's input; the second should read the result of the first.",
            lambda z, a, m, n, k: z + a(n(z)) + m(k(z)),
        ),
        Slip(
            "post-norm",
            (
                "A norm comes after a branch and its addition; in this model, it comes before the branch and "
                "outside the stream."
            ),
            lambda z, a, m, n, k: k((y := n(z + a(z))) + m(y)),
            lambda z, a, m, n, k: (y := n(z + a(z))) + m(k(y)),
            lambda z, a, m, n, k: k((y := z + a(n(z))) + m(y)),
        ),
        Slip("no-norm", "Neither branch has a norm before it.", lambda z, a, m, n, k: (y := z + a(z)) + m(y)),
        Slip(
            "no-norm",
            "The input of the attention has not passed through a norm.",
            lambda z, a, m, n, k: (y := z + a(z)) + m(k(y)),
        ),
        Slip(
            "no-norm",
            "The input of the MLP has not passed through a norm.",
            lambda z, a, m, n, k: (y := z + a(n(z))) + m(y),
        ),
        Slip(
            "norm-after-branch",
            "A norm comes after a branch, before the addition; in this model, it comes before the branch.",
            lambda z, a, m, n, k: (y := z + n(a(z))) + k(m(y)),
            lambda z, a, m, n, k: (y := z + n(a(z))) + m(k(y)),
            lambda z, a, m, n, k: (y := z + a(n(z))) + k(m(y)),
        ),
        Slip("no-residual", "The input of a branch is not added to its output.", lambda z, a, m, n, k: m(k(a(n(z))))),
        Slip(
            "no-first-residual",
            "The attention's output replaces its input instead of being added to it.",
            lambda z, a, m, n, k: (y := a(n(z))) + m(k(y)),
        ),
        Slip(
            "no-second-residual",
            "The MLP's output replaces its input instead of being added to it.",
            lambda z, a, m, n, k: m(k(z + a(n(z)))),
        ),
        Slip(
            "second-residual-around-both",
            "The MLP's output is added to the block's input, so the result of the attention reaches only the MLP.",
            lambda z, a, m, n, k: z + m(k(z + a(n(z)))),
        ),
        Slip(
            "residual-twice",
            "The input of a branch, or of the block, is added twice.",
            lambda z, a, m, n, k: 2 * (y := 2 * z + a(n(z))) + m(k(y)),
            lambda z, a, m, n, k: (y := 2 * z + a(n(z))) + m(k(y)),
            lambda z, a, m, n, k: 2 * (y := z + a(n(z))) + m(k(y)),
            lambda z, a, m, n, k: z + (y := z + a(n(z))) + m(k(y)),
        ),
        Slip(
            "residual-from-norm",
            "The normed input of a branch is added to its output, not the input itself.",
            lambda z, a, m, n, k: (y := k((x := n(z)) + a(x))) + m(y),
            lambda z, a, m, n, k: (y := k(z + a(n(z)))) + m(y),
            lambda z, a, m, n, k: (y := (x := n(z)) + a(x)) + m(k(y)),
        ),
        Slip(
            "doubled",
            "The output of the attention is added twice.",
            lambda z, a, m, n, k: (y := z + 2 * a(n(z))) + m(k(y)),
        ),
    ],
    "mlp": [
        Slip(
            "relu",
            "There is a ReLU between the two layers of the MLP; this model has a GELU there.",
            lambda x, first, second: second(first(x).relu()),
        ),
        Slip(
            "no-activation",
            "There is nothing between the two layers of the MLP, so together they act as one matrix.",
            lambda x, first, second: second(first(x)),
        ),
        Slip(
            "not-gelu",
            "The function between the two layers of the MLP is not a GELU.",
            lambda x, first, second: second(F.silu(first(x))),
            lambda x, first, second: second(first(x).tanh()),
            lambda x, first, second: second(first(x).sigmoid()),
            lambda x, first, second: second((z := first(x)) * (1.702 * z).sigmoid()),
            lambda x, first, second: second(F.leaky_relu(first(x))),
            lambda x, first, second: second(F.elu(first(x))),
        ),
        Slip(
            "gelu-at-the-end",
            "A GELU follows the last layer of the MLP.",
            lambda x, first, second: F.gelu(second(first(x))),
            lambda x, first, second: F.gelu(second(F.gelu(first(x)))),
        ),
        Slip(
            "gelu-first",
            "A GELU comes before the first layer of the MLP; in this model, it comes after that layer.",
            lambda x, first, second: second(first(F.gelu(x))),
        ),
    ],
    "norm": [
        Slip(
            "no-mean-in-norm",
            "The norms do not subtract the mean; they work like RMSNorm.",
            lambda z: F.rms_norm(z, z.shape[-1:]),
        ),
        Slip(
            "norm-over-tokens",
            "A norm runs over tokens and width together; each token should be normed separately.",
            lambda z: F.layer_norm(z, z.shape[-2:]),
        ),
    ],
}
