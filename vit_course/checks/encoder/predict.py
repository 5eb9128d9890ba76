"""Exercise encoder.predict: predictions of what a change to the block does."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
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
        mistakes={
            "equal_numbers": {
                "ones": ("norm-gives-ones", "This is what a number divided by itself gives; look at what is divided."),
                "sevens": ("norm-lets-mean-through", "This keeps a mean that the norm takes away."),
                "nan": ("epsilon-forgotten", "This divides by a spread of 0 and leaves out what stands beside it."),
            },
            "pre_norm_plus_5": {
                "same": ("stream-forgotten", "This follows the branches only."),
                "other": ("branch-sees-the-mean", "This has the branches answer to something that they cannot see."),
            },
            "post_norm_plus_5": {
                "same": ("branch-input-forgotten", "This looks at the norms, and not at what each branch reads."),
                "plus 5": ("norm-lets-mean-through", "This keeps a mean that the norm takes away."),
            },
            "pre_norm_times_10": {
                "same": ("stream-forgotten", "This follows the branches only."),
                "times 10": ("branch-sees-the-length", "This has the branches grow with the length of what comes in."),
            },
            "silent_without_residuals": {
                "same": ("residual-still-there", "This takes a path for the tokens that was taken out."),
                "other": ("silent-branch-speaks", "This lets a branch whose output is 0 add something."),
            },
            "tokens_moved": {
                7: ("tokens-meet", "This lets tokens meet although the branch in which they meet is silent."),
                0: ("nothing-moves", "This says that even the changed token comes out as before."),
                2: ("one-for-each-block", "This counts a token for each block."),
                6: ("changed-token-left-out", "This counts the tokens that were not changed."),
                range(3, 6): ("some-tokens-meet", "This lets a few tokens meet: where they do meet, all seven do."),
                range(8, 1000): ("more-than-there-are", "This is more tokens than there are."),
            },
            "survivor": {
                1.0: ("survivors-unchanged", "This leaves the rest as it was, so the mean would shrink."),
                0.4: ("survivors-multiplied", "This makes the rest smaller, so the mean would shrink twice."),
                1 / 0.6: ("divided-by-p", "This divides by the share that is dropped."),
                0.0: ("all-dropped", "This is a number that was dropped."),
                0.6: ("share-dropped", "This is the share that is dropped."),
                1.6: ("one-plus-p", "This is 1 + p, which keeps the mean only where p is 0."),
                2: ("half-dropped", "This would keep the mean if half of the numbers were dropped."),
                0.4**-2: ("divided-twice", "This divides by the share that is kept twice."),
                0.4**-0.5: ("divided-by-a-root", "This keeps the mean of the squares, not of the numbers."),
            },
        },
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
