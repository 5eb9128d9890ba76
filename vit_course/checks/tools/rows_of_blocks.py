"""A stack of blocks with a norm at the end, in which each step can be replaced by a wrong one."""

from collections.abc import Callable, Sequence

import torch

from vit_course.checks.tools.mistakes import Mistake

NO_NORM = (0, 0, 0, 0)


def run(
    x: torch.Tensor,
    blocks: Sequence[Callable],
    norm: Callable,
    norms: tuple[int, int, int, int] = (0, 0, 0, 1),
    around: float = 0,
    pick: Callable = lambda blocks: blocks,
) -> torch.Tensor:
    """The right output, or a wrong one where a step is replaced.

    Args:
        x: (B, T, D).
        blocks: in order.
        norm: the norm after the last block.
        norms: how often it runs: before the first block, before each block, after each block, at the end.
        around: how often the input of each block is added to its output.
        pick: which blocks run.
    """
    first, before, after, last = norms
    z = _repeat(norm, first, x)
    for block in pick(blocks):
        z = around * z + block(_repeat(norm, before, z))
        z = _repeat(norm, after, z)
    return _repeat(norm, last, z)


def _repeat(norm: Callable, times: int, z: torch.Tensor) -> torch.Tensor:
    for _ in range(times):
        z = norm(z)
    return z


AFTER_EVERY_BLOCK = Mistake(
    "norm-after-every-block",
    "The last norm runs after every block, inside the stream.",
    {"norms": (0, 0, 1, 0)},
    {"norms": (0, 0, 1, 1)},  # and again at the end
)

# What people do wrong with a row of blocks.
MISTAKES = [
    AFTER_EVERY_BLOCK,
    Mistake("no-last-norm", "No norm follows the last block.", {"norms": NO_NORM}),
    Mistake("norm-first", "The last norm runs before the first block.", {"norms": (1, 0, 0, 0)}),
    Mistake(
        "norm-before-every-block",
        "The last norm runs before every block.",
        {"norms": (0, 1, 0, 0)},
        {"norms": (0, 1, 0, 1)},  # and at the end
    ),
    Mistake(
        "residual-around-blocks",
        "The input of each block is added to its output, although the block already does that itself.",
        {"around": 1},
    ),
    Mistake(
        "first-block-only",
        "Only the first block is used.",
        {"pick": lambda blocks: blocks[:1]},
        {"pick": lambda blocks: blocks[:1] * len(blocks)},
    ),
    Mistake(
        "blocks-not-chained",
        "The blocks get the input tokens, not the output of the block before them.",
        {"pick": lambda blocks: blocks[-1:]},
        lambda x, blocks, norm: norm(sum(block(x) for block in blocks)),
    ),
]
