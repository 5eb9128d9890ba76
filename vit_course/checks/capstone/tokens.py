"""Exercise capstone.tokens: class token and positions, as one module."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.accountant import counted
from vit_course.checks.tools.modules import alone, build, feed, feed_any_batch, repeats, token_in_front, trained_by
from vit_course.checks.tools.table import refuse
from vit_course.checks.tools.tensors import agree, tensor


def tokens(answer, draw):
    """`answer(num_patches, hidden_dim)` -> a module (B, N, D) -> (B, N + 1, D), both parts learned."""
    for _ in range(2):
        batch, number, width = draw.sizes(3)
        module = build(answer, number, width)
        x = draw.normal(batch, number, width)
        out = feed_any_batch(module, x)
        token_in_front(module, out, x, "no-class-token", "(B, N + 1, D)")
        tensor(out, (batch, number + 1, width), "(B, N + 1, D)", "the output")
        table = any(p.requires_grad and p.numel() == (number + 1) * width for p in module.parameters())
        counted(module, [(number + 2) * width], __name__, locals(), f"N = {number}, D = {width}")
        with torch.no_grad():  # random, because learned parts may well start at 0
            for parameter in module.parameters():
                parameter.copy_(draw.normal(*parameter.shape))
        module.eval()
        repeats(module, x)
        alone(module, x, axes="(B, N + 1, D)")
        trained_by(module, x, draw, through=True)
        out, shifted, zeros = (feed(module, z) for z in (x, x + 1, torch.zeros_like(x)))
        added, order = out[:, 1:] - x, draw.permutation(number)
        moved, reordered = out[:, 1:] - zeros[:, 1:], feed(module, x[:, order])[:, 1:] - x[:, order]
        stored = [p.detach().flatten() for p in module.parameters() if p.numel() == width]
        refuse(__name__, "given", locals())
        _added_once(module, x, out)


def _added_once(module: nn.Module, x: torch.Tensor, out: torch.Tensor) -> None:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(1)
    grown = feed(module, x) - out
    if agree(grown[:, 1:], torch.full_like(x, 2)):
        sentence = "In addition to its row of the table, each patch gets that row again, or the class token."
        details = ["Input:    all parameters larger by 1", "Expected: patches larger by 1", "Received: larger by 2"]
        raise Wrong("wrong-behaviour", sentence, details)
