"""Blocks one after the other and a norm behind them, with every step of the way to be replaced."""

from collections.abc import Callable, Sequence

import torch

from vit_course.checks.tools.functions import Mistake
from vit_course.checks.tools.table import table

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
    return table(__name__, "mistakes", run, steps)
