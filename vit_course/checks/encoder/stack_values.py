"""What a stack of blocks gives: the right output, and the outputs of what people write."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.encoder.shared import set_norms
from vit_course.checks.encoder.stack_parts import Factory
from vit_course.checks.report import Wrong
from vit_course.checks.tools.functions import Mistake, one_mistake
from vit_course.checks.tools.modules import feed
from vit_course.checks.tools.slips import slips
from vit_course.checks.tools.tensors import agree, equal
from vit_course.encoder import NORM_EPSILON


def run(
    x,
    blocks,
    norm,
    norms=(0, 0, 0, 1),
    around=0,
    pick=lambda blocks: blocks,
    between=lambda z: z,
    end=lambda out, x, norm: out,
):
    """The right output, and with one of the steps replaced a wrong one.

    Args:
        x: (B, T, D).
        blocks: in order.
        norm: a function.
        norms: how often it runs: before the first block, before each, between two, after the last.
        around: how often the input of each block is added to its output.
        pick: which blocks run.
        between: what becomes of the output of each block.
        end: what becomes of the last output.
    """
    first, before, inside, last = norms
    z = _often(norm, first, x)
    blocks = pick(blocks)
    for number, block in enumerate(blocks):
        z = around * z + between(block(_often(norm, before, z)))
        z = _often(norm, inside if number < len(blocks) - 1 else last, z)
    return end(z if blocks else _often(norm, last, z), x, norm)


def _often(norm, times, z):
    for _ in range(times):
        z = norm(z)
    return z


_NO_NORM = (0, 0, 0, 0)
_PLACES = {
    "norms": [
        ((0, 0, 1, 1), "norm-after-every-block", "The last norm runs after every block, in the way of the stream."),
        ((0, 0, 0, 0), "no-last-norm", "The stream leaves the last block, and no norm follows."),
        ((0, 0, 1, 2), "norm-after-every-block", "The last norm runs after every block, and once more at the end."),
        ((0, 0, 1, 0), "norm-between-blocks", "The last norm runs between the blocks, and not after the last one."),
        ((1, 0, 0, 0), "norm-first", "The last norm runs before the first block."),
        ((1, 0, 0, 1), "norm-first", "The last norm runs before the first block too."),
        ((0, 1, 0, 0), "norm-before-every-block", "The last norm runs before every block."),
        ((0, 1, 0, 1), "norm-before-every-block", "The last norm runs before every block too."),
        ((0, 1, 1, 1), "norm-before-every-block", "The last norm runs before and after every block."),
        ((0, 0, 0, 2), "last-norm-twice", "The last norm runs twice."),
    ],
    "around": [
        (1, "residual-around-blocks", "The input of each block is added to its output, though a block does so itself."),
    ],
    "end": [
        (lambda out, x, norm: x + out, "residual-around-stack", "The input of the stack is added to its output."),
        (lambda out, x, norm: out.softmax(-1), "softmax-at-the-end", "A softmax follows the last norm."),
        (lambda out, x, norm: out.relu(), "activation-added", "A ReLU follows the last norm."),
        (lambda out, x, norm: F.gelu(out), "activation-added", "A GELU follows the last norm."),
    ],
    "between": [
        (torch.relu, "activation-added", "A ReLU follows each block."),
        (F.gelu, "activation-added", "A GELU follows each block."),
    ],
}  # fmt: skip
_BLOCKS = {
    "pick": [
        (lambda blocks: blocks[:1], "first-block-only", "Only the first block has a part in the output."),
        (lambda blocks: blocks[:1] * len(blocks), "first-block-only",
         "The first block runs again and again, and the others not at all."),
        (lambda blocks: blocks[-1:] * len(blocks), "last-block-only",
         "The last block runs again and again, and the others not at all."),
        (lambda blocks: blocks[-1:], "blocks-not-chained",
         "The last block gets the first tokens, not what the block before it gives."),
        (lambda blocks: blocks[:-1], "last-block-left-out", "The last block has no part in the output."),
        (lambda blocks: blocks[1:], "first-block-left-out", "The first block has no part in the output."),
        (lambda blocks: [*blocks, *blocks], "stack-twice", "The whole stack runs twice."),
        (lambda blocks: [block for block in blocks for _ in range(2)], "each-block-twice",
         "Each block runs twice before the next one."),
        (lambda blocks: [], "no-block-used", "No block has a part in the output."),
    ],
}  # fmt: skip
_MISTAKES = [
    *slips(run, _PLACES | _BLOCKS, likely=3),
    Mistake(
        "blocks-not-chained",
        "Every block gets the first tokens, and their outputs are added up or averaged.",
        lambda x, blocks, norm: norm(sum(block(x) for block in blocks)),
    ),
    Mistake(
        "stack-twice",
        "The whole stack runs twice, with a norm between.",
        lambda x, blocks, norm: run(run(x, blocks, norm), blocks, norm),
    ),
    Mistake(
        "residual-around-stack",
        "The input of the stack is added to what the last norm reads.",
        lambda x, blocks, norm: norm(x + run(x, blocks, norm, _NO_NORM)),
    ),
    Mistake("input-returned", "The tokens come out as they went in.", lambda x, blocks, norm: x),
    Mistake(
        "outputs-averaged",
        "The outputs of all blocks are averaged or added up, where the last one is asked for.",
        lambda x, blocks, norm: norm(sum(run(x, blocks[: end + 1], norm, _NO_NORM) for end in range(len(blocks)))),
    ),
    Mistake(
        "norm-over-tokens",
        "The last norm runs over tokens and width together, where each token has its own.",
        lambda x, blocks, norm: F.layer_norm(run(x, blocks, norm, _NO_NORM), x.shape[1:]),
    ),
    Mistake(
        "residual-around-blocks",
        "The output of each block goes through the last norm and is added to the block's input.",
        lambda x, blocks, norm: run(x, blocks, norm, _NO_NORM, around=1, between=norm),
    ),
    *one_mistake(
        "epsilon-too-large",
        "The last norm adds so large an epsilon to the variance that its outputs are smaller.",
        *(lambda x, blocks, norm, eps=eps: run(x, blocks, lambda z: norm(z, eps)) for eps in (1.0, 0.1, 0.01, 1e-3)),
    ),
    Mistake(
        "norm-between-blocks",
        "The last norm runs after the first block too.",
        lambda x, blocks, norm: run(norm(blocks[0](x)), blocks[1:], norm),
    ),
]
_SECOND = slips(run, _PLACES, likely=0)


def right_values(module: nn.Module, factory: Factory, x: torch.Tensor, scale: torch.Tensor) -> None:
    """Raises `Wrong` unless the module's blocks run one after the other, and the norm once at the end.

    Args:
        module: with the right parts, in eval mode.
        factory: that made its blocks.
        x: (B, T, D).
        scale: (D,), for scale and shift of the norm.
    """
    received, ran, norm, learned = _output(module, factory, x, scale)
    blocks = factory.blocks_in(module)
    if sorted(map(id, ran)) == sorted(map(id, blocks)):  # in any order: they are made alike
        blocks = ran
    with torch.no_grad():
        expected = run(x, blocks, norm)
        context = ["Scale and shift of the last norm were set to known values."]
        if agree(received, expected):
            if learned:
                return
            sentence = "The last norm has no scale and no shift that are learned."
            raise Wrong("norm-without-parameters", sentence)
        for mistake in _MISTAKES:
            output = mistake.function(x, blocks, norm)
            if agree(received, output) and not agree(expected, output):
                equal(received, expected, mistake.slug, mistake.sentence, axes="(B, T, D)")
        if len(set(map(id, ran))) < len(blocks):
            sentence = f"Of {len(blocks)} blocks only {len(set(map(id, ran)))} run."
            equal(received, expected, "blocks-left-out", sentence, axes="(B, T, D)", context=context)
        equal(received, expected, axes="(B, T, D)", context=context)


def second_fault(module: nn.Module, factory: Factory, x: torch.Tensor, scale: torch.Tensor) -> str | None:
    """What is wrong with the way through a module whose parts are not right, as a sentence; None where nothing is."""
    try:
        received, ran, norm, _ = _output(module, factory, x, scale)
    except Wrong:
        return None
    with torch.no_grad():
        if not ran or agree(received, run(x, ran, norm)):
            return None
        return next((one.sentence for one in _SECOND if agree(received, one.function(x, ran, norm))), None)


def _output(module: nn.Module, factory: Factory, x: torch.Tensor, scale: torch.Tensor):
    # -> the output with a known norm; the blocks that ran, in order; the norm as a function; whether it is learned.
    learned = set_norms(module, factory.blocks_in(module), scale)
    factory.ran.clear()
    with torch.no_grad():
        received = feed(module, x)
    known = {"weight": scale, "bias": scale} if learned else {}
    return received, [*factory.ran], _norm(scale, known), learned


def _norm(scale: torch.Tensor, known: dict) -> Callable:
    return lambda z, eps=NORM_EPSILON: F.layer_norm(z, scale.shape, eps=eps, **known)
