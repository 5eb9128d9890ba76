"""Exercise capstone.block: the encoder block."""

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.attention import SelfAttention
from vit_course.checks.capstone.shared import counted
from vit_course.checks.exercise import exercise
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.modules import build, fill
from vit_course.checks.tools.tensors import equal, tensor
from vit_course.encoder import MLP


@exercise("The encoder block", section="Six steps, six checks", difficulty=3, minutes=10)
def block(answer, draw):
    """`answer(hidden_dim, num_heads, mlp_dim)` -> a module (B, T, D) -> (B, T, D)."""
    for _ in range(2):
        batch, number = draw.sizes(2, low=3)
        heads, head_width = draw.choose([(2, 5), (3, 4), (4, 3), (5, 2)])
        width, inner = heads * head_width, 4 * heads * head_width - head_width
        module = build(answer, width, heads, inner).eval()
        x = 10 * draw.normal(batch, number, width)  # so large that the epsilon of a norm, 1e-5 or 1e-6, does not show
        tensor(call(module, x), x.shape, "(B, T, D)", "the output")
        _block_parameters(module, width, inner)
        parts = nn.ModuleDict(
            {"attention": SelfAttention(width, heads), "mlp": MLP(width, inner), "n1": nn.LayerNorm(width, eps=1e-6),
             "n2": nn.LayerNorm(width, eps=1e-6)}
        ).eval()  # fmt: skip
        _fill_keeping_norms(module, head_width)
        _fill_keeping_norms(parts, head_width)
        with torch.no_grad():
            received = call(module, x)
            expected = _block_by(parts, x, "pre-norm")
            for mistake, sentence in BLOCK_MISTAKES.items():
                theirs = _block_by(parts, x, mistake)
                if (received - theirs).norm() < 0.02 * theirs.norm():  # a norm of little variance shows its epsilon
                    equal(received, expected, mistake, sentence, axes="(B, T, D)")
            equal(received, expected, axes="(B, T, D)", context=["All matrices were set to known values."])


BLOCK_MISTAKES = {
    "post-norm": "Each norm stands behind its branch and the addition, where this model has it before the branch.",
    "no-residual": "What went into a branch is not added to what comes out of it.",
    "residual-from-norm": "What is added to a branch's output is its normed input, not the input itself.",
    "residual-twice": "The input of a branch is added twice.",
    "mlp-first": "The MLP comes before the attention.",
    "parallel": "Both branches read the block's input, where the second reads what the first left.",
    "no-norm": "The branches read their input without a norm.",
    "no-second-residual": "The MLP's output replaces its input instead of being added to it.",
    "relu": "Between the MLP's two layers stands a ReLU, and this model has another function there.",
    "no-activation": "Between the MLP's two layers stands nothing, so the two are one matrix.",
}


def _block_by(parts, x: torch.Tensor, kind: str) -> torch.Tensor:
    attention, norm1, norm2 = parts["attention"], parts["n1"], parts["n2"]

    def mlp(z):
        functions = {"relu": F.relu, "no-activation": lambda inner: inner}
        return parts["mlp"].contract(functions.get(kind, F.gelu)(parts["mlp"].expand(z)))

    if kind == "post-norm":
        x = norm1(x + attention(x))
        return norm2(x + mlp(x))
    if kind == "no-residual":
        return mlp(norm2(attention(norm1(x))))
    if kind == "residual-from-norm":
        x = norm1(x) + attention(norm1(x))
        return norm2(x) + mlp(norm2(x))
    if kind == "residual-twice":
        x = 2 * x + attention(norm1(x))
        return 2 * x + mlp(norm2(x))
    if kind == "mlp-first":
        x = x + mlp(norm2(x))
        return x + attention(norm1(x))
    if kind == "parallel":
        return x + attention(norm1(x)) + mlp(norm2(x))
    if kind == "no-norm":
        x = x + attention(x)
        return x + mlp(x)
    x = x + attention(norm1(x))
    return mlp(norm2(x)) if kind == "no-second-residual" else x + mlp(norm2(x))


def _fill_keeping_norms(module: nn.Module, head_width: int) -> None:
    # A vector of ones is the scale of a norm; `fill` would set it to 0.
    scales = [p for p in module.parameters() if p.ndim == 1 and bool((p == 1).all())]
    fill(module, head_width, scale=0.3)
    with torch.no_grad():
        for scale in scales:
            scale.fill_(1)


def _block_parameters(module: nn.Module, width: int, inner: int) -> None:
    norms, mlp, attention = 4 * width, 2 * width * inner + inner + width, 4 * width * width + 4 * width
    right = norms + mlp + attention
    counted(
        module,
        {right, right - 3 * width, right - 4 * width},  # with or without biases in the attention
        {
            **{
                right - bias - 2 * width: ("shared-norm", "There is one norm for two branches.")
                for bias in (0, 3 * width)
            },
            right - mlp: ("no-mlp", "There is no MLP."),
            right - attention: ("no-attention", "There is no attention."),
        },
        f"D = {width}, MLP {inner}",
    )
