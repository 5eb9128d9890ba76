"""Exercise capstone.tokens: class token and positions, as one module."""

import torch
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.accountant import counted
from vit_course.checks.tools.modules import alone, build, feed, repeats, token_in_front, trained_by
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, refuse
from vit_course.checks.tools.tensors import agree, tensor


@exercise("12.2", "Class token and positions", section="Six steps, six checks", difficulty=2, minutes=8)
def tokens(answer, draw):
    """`answer(num_patches, hidden_dim)` -> a module (B, N, D) -> (B, N + 1, D), both parts learned."""
    for _ in range(2):
        batch, number, width = draw.sizes(3)
        module = build(answer, number, width)
        x = draw.normal(batch, number, width)
        out = _fed(module, x)
        token_in_front(module, out, x, "no-class-token", "(B, N + 1, D)")
        if isinstance(out, torch.Tensor) and out.shape == (batch, number + 2, width):
            details = [f"Expected: {(batch, number + 1, width)} (B, N + 1, D)", f"Received: {tuple(out.shape)}"]
            raise Wrong("a-token-too-many", "Two tokens have been put in, and one is asked for.", details)
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


def _fed(module: nn.Module, x: torch.Tensor):
    # The two errors that most people meet: the class token of one image, and positions for the patches alone.
    try:
        return feed(module, x)
    except Wrong as wrong:
        if wrong.mistake != "raised-error":
            raise
        for part, slug, sentence in (
            (x[:1], "one-image-only", "A batch of one image goes through, a larger one does not."),
            (x[:, 1:], "a-position-too-few", "N patches do not go through, N - 1 do, as if the class token were one."),
        ):
            try:
                fits = feed(module, part).shape == (len(part), part.shape[1] + 1, part.shape[2])
            except (Wrong, AttributeError):
                fits = False
            if fits:
                raise Wrong(slug, sentence, wrong.details) from None
        with named_by_details(*known(__name__, "errors")):
            raise


def _added_once(module: nn.Module, x: torch.Tensor, out: torch.Tensor) -> None:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(1)
    grown = feed(module, x) - out
    if not agree(grown[:, 1:], torch.full_like(x, 2)):
        return
    for parameter in module.parameters():  # one that is added to every patch alike is no table
        with torch.no_grad():
            parameter.copy_(torch.arange(float(parameter.numel())).reshape(parameter.shape))
        alike = feed(module, x)
        with torch.no_grad():
            parameter.add_(1)
        if parameter.numel() == x.shape[2] and agree((feed(module, x) - alike)[:, 1:], torch.ones_like(x)):
            sentence = "The class token is added to the patch tokens besides, and it is one token in front of them."
            raise Wrong("class-token-added", sentence)
    raise Wrong("position-twice", "A patch gets its position twice.", ["Expected: each position added once"])
