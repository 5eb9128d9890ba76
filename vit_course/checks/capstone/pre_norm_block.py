"""What an encoder block gives with known weights, and what people write in its place."""

from collections.abc import Callable, Mapping
from functools import partial

import torch
import torch.nn.functional as F

from vit_course.checks.attention.mended import attention
from vit_course.checks.capstone.attention import MISTAKES as OF_ATTENTION
from vit_course.checks.capstone.attention import with_weights
from vit_course.checks.tools.mistakes import Mistake, Slip, wrong_functions
from vit_course.encoder import NORM_EPSILON


def gelu(x: torch.Tensor, first: Callable, second: Callable) -> torch.Tensor:
    """The MLP with the exact GELU between its two layers."""
    return second(F.gelu(first(x)))


def tanh_gelu(x: torch.Tensor, first: Callable, second: Callable) -> torch.Tensor:
    """The MLP with the tanh form of the GELU between its two layers."""
    return second(F.gelu(first(x), approximate="tanh"))


def _pre_norm(z: torch.Tensor, a: Callable, m: Callable, n: Callable, k: Callable) -> torch.Tensor:
    y = z + a(n(z))
    return y + m(k(y))


def block(
    x: torch.Tensor,
    weights: Mapping[str, torch.Tensor],
    heads: int,
    way: Callable = _pre_norm,
    mlp: Callable = gelu,
    norm: Callable = lambda z: F.layer_norm(z, z.shape[-1:], eps=NORM_EPSILON),
    attend: Callable = attention,
) -> torch.Tensor:
    """The right output, and with one of the steps replaced a wrong one.

    Args:
        x: (B, T, D).
        weights: by the names of an `EncoderBlock`.
        heads: h.
        way: of tokens z, attention a, MLP m and their norms n and k.
        mlp: of tokens and the MLP's two layers.
        norm: without its scale and shift.
        attend: as `attention`.
    """
    n, k = (
        lambda z, name=name: norm(z) * weights[f"{name}.weight"] + weights[f"{name}.bias"]
        for name in ("norm1", "norm2")
    )
    first, second = (
        lambda z, name=name: F.linear(z, weights[f"mlp.{name}.weight"], weights[f"mlp.{name}.bias"])
        for name in ("expand", "contract")
    )
    of_attention = inside(weights, "attention.")
    return way(x, lambda z: with_weights(z, of_attention, heads, attend), lambda z: mlp(z, first, second), n, k)


def inside(weights: Mapping[str, torch.Tensor], part: str) -> dict[str, torch.Tensor]:
    """The weights whose names begin with that of a part, without it."""
    return {name.removeprefix(part): value for name, value in weights.items() if name.startswith(part)}


def block_mistakes() -> list[Mistake]:
    """Wrong functions of x, weights and heads: wrong blocks, and right ones around a wrong attention."""
    of_attention = [Mistake(one.slug, one.sentence, partial(block, attend=one.function)) for one in OF_ATTENTION]
    return [*wrong_functions(MISTAKES, block), *of_attention]


# z goes in; a and m are attention and MLP, n and k their norms.
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
        Slip(
            "shared-norm",
            "One norm is used for both branches; the other is not used.",
            lambda z, a, m, n, k: (y := z + a(n(z))) + m(n(y)),
            lambda z, a, m, n, k: (y := z + a(k(z))) + m(k(y)),
        ),
        Slip(
            "norms-exchanged",
            "The two norms are exchanged: the first belongs to the attention.",
            lambda z, a, m, n, k: (y := z + a(k(z))) + m(n(y)),
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
