"""Whether a module is an encoder block, whatever it is made of: for the block and for those of a whole model."""

from dataclasses import replace

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.biases import draw_biases, same_with_biases
from vit_course.checks.tools.blocks import Blocks, pre_norm_blocks
from vit_course.checks.tools.modules import alone, feed, repeats, scatter, trained_by
from vit_course.checks.tools.parts import NOTHING, Parts, normed
from vit_course.checks.tools.roles import Head, Watched
from vit_course.checks.tools.tokens_meet import tokens_meet


def right_block(module: nn.Module, x: torch.Tensor, heads: int, inner: int, draw) -> None:
    """Raises `Wrong` unless the module is a pre-norm block.

    Args:
        module: (B, T, D) -> (B, T, D), in eval mode, with as many parameters as a block; they are changed.
        x: (B, T, D).
        heads, inner: h and the width inside the MLP, which no other part of the block has.
        draw: of the check.
    """
    parts = Parts(module, x.shape[-1], inner)
    scatter(module, draw)
    repeats(module, x)
    trained_by(module, x, draw, through=True)
    alone(module, x)
    tokens_meet(module, normed(x), draw)  # without a norm, large scores would leave each token one other
    try:
        blocks, (found,) = pre_norm_blocks(parts, heads, draw)
        _with_biases(parts, blocks, found, draw)
    except Wrong as wrong:
        if wrong.mistake.startswith("wrong-"):
            _all_used(parts, draw)
        raise
    _all_used(parts, draw)


def _all_used(parts: Parts, draw) -> None:
    # All that a norm, a matrix or a bias has must count; a key's bias alone has no say in a softmax. Many tokens,
    # because a ReLU is silent for half of them; of the MLP, only a whole tensor without a gradient counts.
    scatter(parts.module, draw)
    out = feed(parts.module, draw.normal(8, 16, parts.width))
    slopes = parts.flat.slopes((out * draw.normal(*out.shape)).sum()).abs()
    idle = slopes < 1e-7 * slopes.max()
    attention, mlp = parts.branches(draw)
    for matrix in attention.matrices:
        idle[matrix] = False  # `find_roles` knows more of these
    for part in (*mlp.matrices, *parts.inner_biases):
        idle[part] = bool(idle[part].all())
    if int(idle.sum()) < 2 * parts.width:
        return
    if any(bool(idle[scale].all()) for scale in parts.scales):
        raise Wrong("norm-unused", "The output ignores one of the norms.")
    details = [f"Received: {int(idle.sum())} numbers without a gradient, at D = {parts.width}"]
    raise Wrong("unused-parameters", "The output ignores some of the parameters.", details)


def _with_biases(parts: Parts, blocks: Blocks, found: list[Head], draw) -> None:
    # Once more, with random biases.
    ((_, attention, mlp),) = blocks.layers
    norms = [place for norm in (attention.norm, mlp.norm) for place in (norm.scale, norm.shift)]
    last = _last_bias(parts, draw)
    inner = parts.inner_biases[0].flatten() if parts.inner_biases else NOTHING
    parts.flat.set(parts.drawn(parts.plain_row(), attention.matrices, draw))
    watched = Watched(parts.flat, parts.output, parts.asker)
    spare = torch.cat([NOTHING, *(one.flatten() for one in parts.vectors)])
    spare = spare[~torch.isin(spare, torch.cat([*norms, last, inner]))]
    vectors, shift = draw_biases(watched, found, spare, lambda: normed(draw.normal(parts.tokens, parts.width)), draw)
    row = parts.drawn(parts.flat.get(), mlp.matrices, draw)
    for places in (*norms, last, inner):
        row[places] = 0.5 + draw.normal(len(places))
    known = dict(inner_bias=inner if len(inner) else None, last_bias=last if len(last) else None)
    received, right = parts.out(row, blocks.x[0]), replace(blocks, row=row, shift=shift, **known).run([vectors])
    same_with_biases(received, right, "(D)")


def _last_bias(parts: Parts, draw) -> torch.Tensor:
    # The places of what is added last of all: the gradient there is that of the output.
    row = parts.drawn(parts.row(), parts.matrices, draw)
    for part in parts.slices:
        row[part] = draw.normal(parts.width)
    parts.flat.set(row)
    out, weights = parts.output(draw.normal(parts.tokens, parts.width)), draw.normal(parts.width)
    slopes = parts.flat.slopes((out * weights).sum())
    found = [part for part in parts.slices if (slopes[part] - weights).norm() < 1e-3 * weights.norm()]
    return torch.cat([NOTHING, *found])
