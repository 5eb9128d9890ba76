"""Exercise encoder.predict: predictions of what a change to the block does."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import by_answer
from vit_course.checks.tools.tensors import agree
from vit_course.encoder import NORM_EPSILON, EncoderBlock


@exercise("5.3", "What a change does", section="The parts", difficulty=3, minutes=12)
def predict(answer, draw, parts):
    """`answer()` -> {"equal_numbers", "pre_norm_plus_5", "post_norm_plus_5", "pre_norm_times_10", ...}."""
    received = call(answer)
    x, pre_norm = 2 * draw.normal(3, 7, 12), EncoderBlock(12, 3, 48)
    for parameter in pre_norm.parameters():
        parameter.data = 0.3 * draw.normal(*parameter.shape)
    dropped = F.dropout(torch.ones(1000), 0.6)

    def post_norm(x):
        x = pre_norm.norm1(x + pre_norm.attention(x))
        return pre_norm.norm2(x + pre_norm.mlp(x))

    def change(block, changed, **options):
        # The name of what became of the output.
        new, old = block(changed), block(x)
        options = {"same": old} | {name.replace("_", " "): option(old) for name, option in options.items()}
        return next((name for name, output in options.items() if agree(new, output)), "other")

    equal_numbers = nn.LayerNorm(12, eps=NORM_EPSILON)(torch.full((12,), 7.0))
    names = {0.0: "zeros", 1.0: "ones", 7.0: "sevens"}
    silent = _silent(pre_norm)
    same_answers(
        received,
        {
            "equal_numbers": names.get(equal_numbers.mean().item(), "nan"),
            "pre_norm_plus_5": change(pre_norm, x + 5, plus_5=lambda old: old + 5),
            "post_norm_plus_5": change(post_norm, x + 5, plus_5=lambda old: old + 5),
            "pre_norm_times_10": change(pre_norm, 10 * x, times_10=lambda old: 10 * old),
            "silent_without_residuals": _what_is_left(silent, x),
            "tokens_moved": _tokens_moved(pre_norm, x),
            "survivor": round(dropped.max().item(), 4),
        },
        parts,
        mistakes=by_answer(__name__, "by-hand", locals()),
    )  # fmt: skip


def _silent(block: EncoderBlock) -> EncoderBlock:
    block = copy.deepcopy(block)
    for layer in (block.attention.projection, block.mlp.contract):
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
    return block


def _what_is_left(block: EncoderBlock, x: torch.Tensor) -> str:
    # The block without `x +`.
    out = block.mlp(block.norm2(block.attention(block.norm1(x))))
    return "zeros" if agree(out, torch.zeros_like(x)) else "same" if agree(out, x) else "other"


@torch.no_grad()
def _tokens_moved(block: EncoderBlock, x: torch.Tensor) -> int:
    # Two blocks, both with a silent attention.
    block = copy.deepcopy(block)
    nn.init.zeros_(block.attention.projection.weight)
    nn.init.zeros_(block.attention.projection.bias)
    changed = x.clone()
    changed[:, 2] = -changed[:, 2]
    moved = (block(block(changed)) - block(block(x))).abs().amax(dim=(0, 2)) > 1e-5  # (T,)
    return int(moved.sum())
