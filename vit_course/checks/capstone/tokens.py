"""Exercise capstone.tokens: class token and positions, as one module."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.accountant import counted
from vit_course.checks.tools.mistakes import Slip, refuse
from vit_course.checks.tools.modules import alone, build, feed, feed_any_batch, repeats, token_in_front, trained_by
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
        counted(
            module,
            [(number + 2) * width],
            PARAMETERS,
            dict(table=table, number=number, width=width),
            f"N = {number}, D = {width}",
        )
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
        refuse(
            GIVEN,
            dict(
                x=x,
                out=out,
                stored=stored,
                batch=batch,
                shifted=shifted,
                zeros=zeros,
                added=added,
                moved=moved,
                reordered=reordered,
            ),
        )
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


PARAMETERS = [
    Slip("no-parameters", "The module learns nothing.", lambda right: -right),
    Slip(
        "class-token-not-learned",
        "There are positions for all tokens, but the module does not learn a vector for the class token.",
        lambda width, table: -width if table else None,
    ),
    Slip(
        "positions-for-patches-only",
        "There is one row too few: either no class token is learned, or one token gets no position.",
        lambda table, width: None if table else -width,
    ),
    Slip("one-number-as-class-token", "The class token is one number; it needs D of them.", lambda width: 1 - width),
    Slip("a-row-too-many", "The module learns one vector of width D too many.", lambda width: width),
    Slip(
        "one-number-a-place",
        "Each place has one number as its position, not D numbers.",
        lambda number, width: (number + 1) * (1 - width),
    ),
    Slip(
        "two-vectors",
        "Only two vectors of width D are learned: each token needs its own position.",
        lambda number, width: -number * width,
    ),
    Slip(
        "positions-not-learned",
        "The class token is learned, but the positions are not.",
        lambda number, width: -(number + 1) * width,
    ),
    Slip("class-token-per-patch", "There is a class token for each patch.", lambda number, width: (number - 1) * width),
]

# Of tokens `x`, of those with 1 added, of zeros: `out`, `shifted`, `zeros`; `added` is what a patch gets.
GIVEN = [
    Slip(
        "class-token-last",
        "The class token comes after the patches.",
        lambda shifted, out: agree(shifted[:, -1], out[:, -1]) and agree(shifted[:, :-1], out[:, :-1] + 1),
    ),
    Slip(
        "class-token-from-image",
        "The first token changes with the image; it should be the same for every image.",
        lambda shifted, out: not agree(shifted[:, 0], out[:, 0]),
        lambda out, batch: not agree(out[:1, 0].expand(batch, -1), out[:, 0]),
    ),
    Slip(
        "not-added",
        "The output for the patches is not the patch tokens plus something else.",
        lambda shifted, out, x: not agree(shifted[:, 1:] - out[:, 1:], torch.ones_like(x)),
    ),
    Slip(
        "patches-reordered",
        "The patch tokens come out in a different order.",
        lambda moved, x: not agree(moved, x) and agree(moved.sort(1).values, x.sort(1).values),
    ),
    Slip(
        "position-from-patch",
        "What is added at a place depends on the patch or the image that is there.",
        lambda added: not agree(added[:1].expand_as(added), added),
        lambda reordered, added: not agree(reordered, added),
    ),
    Slip(
        "no-positions",
        "The same vector is added to two patches, so their places cannot be told apart.",
        lambda added: agree(added[:, 0], added[:, 1]),
    ),
    Slip(
        "class-token-without-position",
        "The class token comes out exactly as it is stored: it was put in front after the positions were added.",
        lambda zeros, stored: any(agree(zeros[0, 0], token) for token in stored),
    ),
]
