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
    silent, apart = _silent(pre_norm, "attention.projection", "mlp.contract"), _silent(pre_norm, "attention.projection")
    left = silent.mlp(silent.norm2(silent.attention(silent.norm1(x))))  # the block without `x +`
    other = torch.cat([x[:, :2], -x[:, 2:3], x[:, 3:]], dim=1)
    moved = (apart(apart(other)) - apart(apart(x))).abs().amax(dim=(0, 2)) > 1e-5  # (T,)
    right = {
        "equal_numbers": {0.0: "zeros", 1.0: "ones", 7.0: "sevens"}.get(equal_numbers.mean().item(), "nan"),
        "pre_norm_plus_5": change(pre_norm, x + 5, plus_5=lambda old: old + 5),
        "post_norm_plus_5": change(post_norm, x + 5, plus_5=lambda old: old + 5),
        "pre_norm_times_10": change(pre_norm, 10 * x, times_10=lambda old: 10 * old),
        "silent_without_residuals": "zeros" if agree(left, torch.zeros_like(x)) else "other",
        "tokens_moved": int(moved.sum()),
        "survivor": round(dropped.max().item(), 4),
    }
    same_answers(received, right, parts, mistakes=by_answer(__name__, "by-hand", locals()))


def _silent(block: EncoderBlock, *names: str) -> EncoderBlock:
    # A copy in which these layers give 0.
    block = copy.deepcopy(block)
    for name in names:
        for parameter in block.get_submodule(name).parameters():
            nn.init.zeros_(parameter)
    return block
