"""Exercise capstone.tokens: class token and positions, as one module."""

import torch
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.accountant import counted
from vit_course.checks.tools.modules import alone, build, feed, repeats, token_in_front, trained_by
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known
from vit_course.checks.tools.tensors import agree, equal, tensor


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
        out, shifted = feed(module, x), feed(module, x + 1)
        if agree(shifted[:, -1], out[:, -1]) and agree(shifted[:, :-1], out[:, :-1] + 1):
            raise Wrong("class-token-last", "The class token stands behind the patches.")
        equal(
            shifted[:, 0],
            out[:, 0],
            "class-token-from-image",
            "The first token changes with the image: it belongs to every image alike.",
            axes="(B, D)",
        )
        equal(
            out[:1, 0].expand(batch, -1), out[:, 0], "class-token-per-image", "The class token differs between images."
        )
        added = out[:, 1:] - x
        equal(
            shifted[:, 1:] - out[:, 1:],
            torch.ones_like(x),
            "not-added",
            "The patch tokens do not come through as they were with something added.",
            axes="(B, N, D)",
        )
        _in_place(out[:, 1:] - feed(module, torch.zeros_like(x))[:, 1:], x)
        equal(
            added[:1].expand_as(added), added, "position-per-image", "What is added to a patch differs between images."
        )
        if agree(added[:, 0], added[:, 1]):
            raise Wrong("no-positions", "Two patches get the same added: nothing tells one place from another.")
        if not agree(feed(module, x[:, order := draw.permutation(number)])[:, 1:] - x[:, order], added):
            raise Wrong("position-from-patch", "What is added to a place changes with the patch that is there.")
        zero = feed(module, torch.zeros(1, number, width))
        stored = [p.detach().flatten() for p in module.parameters() if p.numel() == width]
        if any(agree(zero[0, 0], token) for token in stored):
            raise Wrong(
                "class-token-without-position",
                "The class token comes out as it is stored: it was put in front after the positions were added.",
            )
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


def _in_place(moved: torch.Tensor, x: torch.Tensor) -> None:
    # Each patch token is to be found at its own place, with whatever is added.
    if not agree(moved, x) and agree(moved.sort(1).values, x.sort(1).values):
        raise Wrong("patches-reordered", "The patch tokens come out in another order than they went in.")


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
