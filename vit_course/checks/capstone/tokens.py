"""Exercise capstone.tokens: class token and positions, as one module."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.mistakes import Mistake
from vit_course.checks.tools.modules import (
    alone,
    build,
    feed,
    feed_any_batch,
    repeats,
    token_in_front,
    trained_by,
    uses_all,
)
from vit_course.checks.tools.parameter_counts import check_count
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
        right = (number + 2) * width
        check_count(module, {right: _wrong_counts(right, width, table, number)}, f"N = {number}, D = {width}")
        with torch.no_grad():  # random, because learned parts may well start at 0
            for parameter in module.parameters():
                parameter.copy_(draw.normal(*parameter.shape))
        module.eval()
        repeats(module, x)
        alone(module, x, axes="(B, N + 1, D)")
        trained_by(module, x, draw, through=True)
        _check_class_token(module, x)
        _check_patches(module, x, draw)
        _check_added_once(module, x)
        uses_all(module, x, draw)


def _check_class_token(module: nn.Module, x: torch.Tensor) -> None:
    out, shifted, zeros = (feed(module, z) for z in (x, x + 1, torch.zeros_like(x)))
    if agree(shifted[:, -1], out[:, -1]) and agree(shifted[:, :-1], out[:, :-1] + 1):
        raise Wrong("class-token-last", "The class token comes after the patches.")
    if not agree(shifted[:, 0], out[:, 0]) or not agree(out[:1, 0].expand(len(x), -1), out[:, 0]):
        sentence = "The first token changes with the image; it should be the same for every image."
        raise Wrong("class-token-from-image", sentence)
    stored = [p.detach().flatten() for p in module.parameters() if p.numel() == x.shape[2]]
    if any(agree(zeros[0, 0], token) for token in stored):
        sentence = "The class token comes out exactly as it is stored: no position is added to it."
        raise Wrong("class-token-without-position", sentence)


def _check_patches(module: nn.Module, x: torch.Tensor, draw) -> None:
    order = draw.permutation(x.shape[1])
    added, of_larger, of_reordered = (feed(module, z)[:, 1:] - z for z in (x, x + 1, x[:, order]))
    once = added[:1].expand_as(added)
    if not all(agree(once, one) for one in (added, of_larger, of_reordered)):
        raise Wrong("not-added", "The patches do not come out as the patch tokens plus one vector for each place.")
    if agree(added[:, 0], added[:, 1]):
        sentence = "The same vector is added to two patches, so their places cannot be told apart."
        raise Wrong("no-positions", sentence)


def _check_added_once(module: nn.Module, x: torch.Tensor) -> None:
    out = feed(module, x)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(1)
    grown = feed(module, x) - out
    if agree(grown[:, 1:], torch.full_like(x, 2)):
        sentence = "In addition to its row of the table, each patch gets that row again, or the class token."
        details = ["Input:    all parameters larger by 1", "Expected: patches larger by 1", "Received: larger by 2"]
        raise Wrong("wrong-behaviour", sentence, details)


def _wrong_counts(right, width, table, number) -> list[Mistake]:
    return [
        Mistake(
            "class-token-not-learned",
            "There are positions for all tokens, but the module does not learn a vector for the class token.",
            -width if table else None,
        ),
        Mistake(
            "positions-for-patches-only",
            "There is one row too few: either no class token is learned, or one token gets no position.",
            None if table else -width,
        ),
        Mistake("one-number-as-class-token", "The class token is one number; it needs D of them.", 1 - width),
        Mistake(
            "one-number-a-place",
            "Each place has one number as its position, not D numbers.",
            (number + 1) * (1 - width),
        ),
        Mistake(
            "two-vectors",
            "Only two vectors of width D are learned: each token needs its own position.",
            -number * width,
        ),
        Mistake(
            "positions-not-learned",
            "The class token is learned, but the positions are not.",
            -(number + 1) * width,
        ),
    ]
