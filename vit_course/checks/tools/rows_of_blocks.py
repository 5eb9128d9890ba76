"""Blocks one after the other and a norm behind them, with every step of the way to be replaced."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F

from vit_course.checks.tools.functions import Mistake
from vit_course.checks.tools.mistakes import Slip, wrong_functions

NO_NORM = (0, 0, 0, 0)


def run(
    x: torch.Tensor,
    blocks: Sequence[Callable],
    norm: Callable,
    norms: tuple[int, int, int, int] = (0, 0, 0, 1),
    around: float = 0,
    pick: Callable = lambda blocks: blocks,
    between: Callable = lambda z: z,
    end: Callable = lambda out, x, norm: out,
) -> torch.Tensor:
    """The right output, and with one of the steps replaced a wrong one.

    Args:
        x: (B, T, D).
        blocks: in order.
        norm: the one behind the last block.
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


def _often(norm: Callable, times: int, z: torch.Tensor) -> torch.Tensor:
    for _ in range(times):
        z = norm(z)
    return z


def slips(steps: Sequence[str] = ()) -> list[Mistake]:
    """What people do wrong with a row of blocks, as functions of x, blocks and norm; of these steps alone, if given."""
    return wrong_functions(MISTAKES, run, only=steps, pairs=3)


MISTAKES = {
    "norms": [
        Slip("norm-after-every-block", "The last norm runs after every block, inside the stream.", (0, 0, 1, 1)),
        Slip("no-last-norm", "No norm follows the last block.", (0, 0, 0, 0)),
        Slip("norm-after-every-block", "The last norm runs after every block and again at the end.", (0, 0, 1, 2)),
        Slip("norm-between-blocks", "The last norm runs between the blocks, but not after the last one.", (0, 0, 1, 0)),
        Slip("norm-first", "The last norm runs before the first block.", (1, 0, 0, 0)),
        Slip("norm-first", "The last norm runs before the first block too.", (1, 0, 0, 1)),
        Slip("norm-before-every-block", "The last norm runs before every block.", (0, 1, 0, 0)),
        Slip("norm-before-every-block", "The last norm runs before every block too.", (0, 1, 0, 1)),
        Slip("norm-before-every-block", "The last norm runs before and after every block.", (0, 1, 1, 1)),
        Slip("last-norm-twice", "The last norm runs twice.", (0, 0, 0, 2)),
    ],
    "around": [
        Slip(
            "residual-around-blocks",
            "The input of each block is added to its output, although the block already does that itself.",
            1,
        ),
    ],
    "end": [
        Slip("residual-around-stack", "The input of the stack is added to its output.", lambda out, x, norm: x + out),
        Slip("softmax-at-the-end", "A softmax follows the last norm.", lambda out, x, norm: out.softmax(-1)),
        Slip("activation-added", "A ReLU follows the last norm.", lambda out, x, norm: out.relu()),
        Slip("activation-added", "A GELU follows the last norm.", lambda out, x, norm: F.gelu(out)),
    ],
    "between": [
        Slip("activation-added", "A ReLU follows each block.", torch.relu),
        Slip("activation-added", "A GELU follows each block.", F.gelu),
    ],
    "pick": [
        Slip("first-block-only", "The output uses only the first block.", lambda blocks: blocks[:1]),
        Slip(
            "first-block-only",
            "The first block runs again and again, and the others never run.",
            lambda blocks: blocks[:1] * len(blocks),
        ),
        Slip(
            "last-block-only",
            "The last block runs again and again, and the others never run.",
            lambda blocks: blocks[-1:] * len(blocks),
        ),
        Slip(
            "blocks-not-chained",
            "The last block gets the input tokens, not the output of the block before it.",
            lambda blocks: blocks[-1:],
        ),
        Slip("last-block-left-out", "The output does not use the last block.", lambda blocks: blocks[:-1]),
        Slip("first-block-left-out", "The output does not use the first block.", lambda blocks: blocks[1:]),
        Slip("stack-twice", "The whole stack runs twice.", lambda blocks: [*blocks, *blocks]),
        Slip(
            "each-block-twice",
            "Each block runs twice before the next one.",
            lambda blocks: [block for block in blocks for _ in range(2)],
        ),
        Slip("no-block-used", "The output does not use any block.", lambda blocks: []),
    ],
    "result": [
        Slip(
            "blocks-not-chained",
            "Every block gets the input tokens, and the outputs are added up or averaged.",
            lambda x, blocks, norm: norm(sum(block(x) for block in blocks)),
        ),
        Slip(
            "stack-twice",
            "The whole stack runs twice, with a norm in between.",
            lambda x, blocks, norm: run(run(x, blocks, norm), blocks, norm),
        ),
        Slip(
            "residual-around-stack",
            "The input of the stack is added to the input of the last norm.",
            lambda x, blocks, norm: norm(x + run(x, blocks, norm, NO_NORM)),
        ),
        Slip("input-returned", "The tokens come out unchanged.", lambda x, blocks, norm: x),
        Slip(
            "outputs-averaged",
            "The outputs of all blocks are averaged or added up; the exercise asks for the last one.",
            lambda x, blocks, norm: norm(sum(run(x, blocks[: end + 1], norm, NO_NORM) for end in range(len(blocks)))),
        ),
        Slip(
            "norm-over-tokens",
            "The last norm runs over tokens and width together; each token should be normed separately.",
            lambda x, blocks, norm: F.layer_norm(run(x, blocks, norm, NO_NORM), x.shape[1:]),
        ),
        Slip(
            "residual-around-blocks",
            "The output of each block goes through the last norm and is added to the block's input.",
            lambda x, blocks, norm: run(x, blocks, norm, NO_NORM, around=1, between=norm),
        ),
        Slip(
            "epsilon-too-large",
            "The last norm adds such a large epsilon to the variance that its outputs are too small.",
            lambda x, blocks, norm: run(x, blocks, lambda z: norm(z, 1.0)),
            lambda x, blocks, norm: run(x, blocks, lambda z: norm(z, 0.1)),
            lambda x, blocks, norm: run(x, blocks, lambda z: norm(z, 0.01)),
            lambda x, blocks, norm: run(x, blocks, lambda z: norm(z, 0.001)),
        ),
        Slip(
            "norm-between-blocks",
            "The last norm runs after the first block too.",
            lambda x, blocks, norm: run(norm(blocks[0](x)), blocks[1:], norm),
        ),
    ],
}
