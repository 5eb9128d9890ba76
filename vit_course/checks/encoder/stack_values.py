"""The right output of a stack of blocks, and the wrong outputs of what people write."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.encoder.stack_parts import Factory
from vit_course.checks.report import Wrong
from vit_course.checks.tools.modules import feed
from vit_course.checks.tools.rows_of_blocks import run, slips
from vit_course.checks.tools.tensors import agree, equal
from vit_course.encoder import NORM_EPSILON

_STREAM = ("norms", "around", "end", "between")  # what goes wrong with the way through the blocks


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
        context = ["The scale and the shift of the last norm were set to known values."]
        if agree(received, expected):
            if learned:
                return
            sentence = "The last norm has no learned scale and no learned shift."
            raise Wrong("norm-without-parameters", sentence)
        for mistake in slips():
            output = mistake.function(x, blocks, norm)
            if agree(received, output) and not agree(expected, output):
                equal(received, expected, mistake.slug, mistake.sentence, axes="(B, T, D)")
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
        return next((one.sentence for one in slips(_STREAM) if agree(received, one.function(x, ran, norm))), None)


def _output(module: nn.Module, factory: Factory, x: torch.Tensor, scale: torch.Tensor):
    # -> the output with a known norm; the blocks that ran, in order; the norm as a function; whether it is learned.
    learned = _set_norms(module, factory.blocks_in(module), scale)
    factory.ran.clear()
    with torch.no_grad():
        received = feed(module, x)
    known = {"weight": scale, "bias": scale} if learned else {}
    return received, [*factory.ran], _norm(scale, known), learned


def _set_norms(module: nn.Module, known, values: torch.Tensor) -> int:
    # All scales and shifts, which are whatever `known` does not have, to the same D numbers; -> how many they are.
    theirs = {id(p) for part in known for p in part.parameters()}
    rest = [p for p in module.parameters() if id(p) not in theirs]
    for parameter in rest:
        if parameter.ndim and parameter.shape[-1] == len(values):
            parameter.data = values.expand_as(parameter).clone()
    return sum(p.numel() for p in rest)


def _norm(scale: torch.Tensor, known: dict) -> Callable:
    return lambda z, eps=NORM_EPSILON: F.layer_norm(z, scale.shape, eps=eps, **known)
