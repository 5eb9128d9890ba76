"""What a stack of blocks gives: the right output, and the outputs of what people write."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.encoder.shared import set_norms
from vit_course.checks.encoder.stack_parts import Factory
from vit_course.checks.report import Wrong
from vit_course.checks.tools.modules import feed
from vit_course.checks.tools.table import table
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


_STREAM = ("norms", "around", "end", "between")  # what goes wrong with the way through the blocks
_NO_NORM = (0, 0, 0, 0)


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
        for mistake in table(__name__, "mistakes", run):
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
        return next(
            (
                one.sentence
                for one in table(__name__, "mistakes", run, _STREAM)
                if agree(received, one.function(x, ran, norm))
            ),
            None,
        )


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
