"""The output of an encoder block with known weights, and the outputs of wrong blocks that people write."""

from collections.abc import Callable, Mapping
from functools import partial

import torch
import torch.nn.functional as F

from vit_course.checks.attention.mended import attention
from vit_course.checks.capstone.attention import MISTAKES as OF_ATTENTION
from vit_course.checks.capstone.attention import with_weights
from vit_course.checks.tools.mistakes import Mistake, map_functions
from vit_course.encoder import NORM_EPSILON


def gelu(x: torch.Tensor, expand: Callable, contract: Callable) -> torch.Tensor:
    """The MLP with the exact GELU between its two layers."""
    return contract(F.gelu(expand(x)))


def tanh_gelu(x: torch.Tensor, expand: Callable, contract: Callable) -> torch.Tensor:
    """The MLP with the tanh form of the GELU between its two layers."""
    return contract(F.gelu(expand(x), approximate="tanh"))


def block(
    x: torch.Tensor,
    weights: Mapping[str, torch.Tensor],
    heads: int,
    attention_branch: Callable = lambda x, attend, norm: x + attend(norm(x)),
    mlp_branch: Callable = lambda y, mlp, norm, x: y + mlp(norm(y)),
    norms: tuple[str, str] = ("norm1", "norm2"),
    mlp: Callable = gelu,
    attend: Callable = attention,
) -> torch.Tensor:
    """The right output, and with one of the steps replaced a wrong one.

    Args:
        x: (B, T, D).
        weights: by the names of an `EncoderBlock`.
        heads: h.
        attention_branch: of the input, attention and its norm.
        mlp_branch: of the result of the attention branch, MLP, its norm and the block's input.
        norms: the names of the two norms, that of the attention first.
        mlp: of tokens and the MLP's two layers.
        attend: as `attention`.
    """

    def norm(name: str, z: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(z, z.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"], NORM_EPSILON)

    def layer(name: str, z: torch.Tensor) -> torch.Tensor:
        return F.linear(z, weights[f"mlp.{name}.weight"], weights[f"mlp.{name}.bias"])

    norm1, norm2 = (partial(norm, name) for name in norms)
    expand, contract = (partial(layer, name) for name in ("expand", "contract"))
    of_attention = inside(weights, "attention.")
    y = attention_branch(x, lambda z: with_weights(z, of_attention, heads, attend), norm1)
    return mlp_branch(y, lambda z: mlp(z, expand, contract), norm2, x)


def inside(weights: Mapping[str, torch.Tensor], part: str) -> dict[str, torch.Tensor]:
    """The weights whose names begin with that of a part, without it."""
    return {name.removeprefix(part): value for name, value in weights.items() if name.startswith(part)}


def block_mistakes() -> list[Mistake]:
    """Wrong forms of `block`: wrong blocks, and right ones around a wrong attention."""
    return [*MISTAKES, *map_functions(OF_ATTENTION, lambda wrong: partial(block, attend=wrong), attention)]


MISTAKES = [
    Mistake(
        "parallel",
        "Both branches read the block's input; the second should read the result of the first.",
        {"mlp_branch": lambda y, mlp, norm, x: y + mlp(norm(x))},
    ),
    Mistake(
        "post-norm",
        (
            "A norm comes after a branch and its addition; in this model, it comes before the branch and "
            "outside the stream."
        ),
        {
            "attention_branch": lambda x, attend, norm: norm(x + attend(x)),
            "mlp_branch": lambda y, mlp, norm, x: norm(y + mlp(y)),
        },
        {"attention_branch": lambda x, attend, norm: norm(x + attend(x))},
        {"mlp_branch": lambda y, mlp, norm, x: norm(y + mlp(y))},
    ),
    Mistake(
        "shared-norm",
        "One norm is used for both branches; the other is not used.",
        {"norms": ("norm1", "norm1")},
        {"norms": ("norm2", "norm2")},
    ),
    Mistake(
        "norms-exchanged",
        "The two norms are exchanged: the first belongs to the attention.",
        {"norms": ("norm2", "norm1")},
    ),
    Mistake(
        "no-norm",
        "Neither branch has a norm before it.",
        {
            "attention_branch": lambda x, attend, norm: x + attend(x),
            "mlp_branch": lambda y, mlp, norm, x: y + mlp(y),
        },
    ),
    Mistake(
        "no-norm",
        "The input of the attention has not passed through a norm.",
        {"attention_branch": lambda x, attend, norm: x + attend(x)},
    ),
    Mistake(
        "no-norm",
        "The input of the MLP has not passed through a norm.",
        {"mlp_branch": lambda y, mlp, norm, x: y + mlp(y)},
    ),
    Mistake(
        "norm-after-branch",
        "A norm comes after a branch, before the addition; in this model, it comes before the branch.",
        {
            "attention_branch": lambda x, attend, norm: x + norm(attend(x)),
            "mlp_branch": lambda y, mlp, norm, x: y + norm(mlp(y)),
        },
    ),
    Mistake(
        "no-residual",
        "The input of a branch is not added to its output.",
        {
            "attention_branch": lambda x, attend, norm: attend(norm(x)),
            "mlp_branch": lambda y, mlp, norm, x: mlp(norm(y)),
        },
    ),
    Mistake(
        "no-first-residual",
        "The attention's output replaces its input instead of being added to it.",
        {"attention_branch": lambda x, attend, norm: attend(norm(x))},
    ),
    Mistake(
        "no-second-residual",
        "The MLP's output replaces its input instead of being added to it.",
        {"mlp_branch": lambda y, mlp, norm, x: mlp(norm(y))},
    ),
    Mistake(
        "second-residual-around-both",
        "The MLP's output is added to the block's input, so the result of the attention reaches only the MLP.",
        {"mlp_branch": lambda y, mlp, norm, x: x + mlp(norm(y))},
    ),
    Mistake(
        "residual-from-norm",
        "The normed input of a branch is added to its output, not the input itself.",
        {
            "attention_branch": lambda x, attend, norm: norm(x) + attend(norm(x)),
            "mlp_branch": lambda y, mlp, norm, x: norm(y) + mlp(norm(y)),
        },
        {"attention_branch": lambda x, attend, norm: norm(x) + attend(norm(x))},
        {"mlp_branch": lambda y, mlp, norm, x: norm(y) + mlp(norm(y))},
    ),
    Mistake(
        "relu",
        "There is a ReLU between the two layers of the MLP; this model has a GELU there.",
        {"mlp": lambda x, expand, contract: contract(expand(x).relu())},
    ),
    Mistake(
        "no-activation",
        "There is nothing between the two layers of the MLP, so together they act as one matrix.",
        {"mlp": lambda x, expand, contract: contract(expand(x))},
    ),
]
