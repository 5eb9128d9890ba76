"""Exercise class_token.module: a class token module, to be fixed."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.accountant import counted
from vit_course.checks.tools.mistakes import Slip, refuse
from vit_course.checks.tools.modules import alone, build, feed, feed_any_batch, same_in_training, token_in_front
from vit_course.checks.tools.tensors import agree, equal, tensor


def module(answer, draw):
    """`answer(hidden_dim)` -> a module (B, N, D) -> (B, T, D) that learns one token, written in any way."""
    for _ in range(2):
        batch, patches, width = draw.sizes(3, low=3)
        layer = build(answer, width)
        x = draw.normal(batch, patches, width)
        out = feed_any_batch(layer, x, [2**power for power in range(9)])
        # One module also takes shorter and longer batches, a single image, and other numbers of patches.
        for other in (x[1:], x[:1], torch.cat([x, x[:1]])):
            feed_any_batch(layer, other, [batch])
        feed(layer, x[:, 1:])
        token_in_front(layer, out, x, "no-longer-sequence", "(B, T, D)")
        tensor(out, (batch, patches + 1, width), "(B, T, D)", "the output")
        if not agree(feed(layer, x), out):
            sentence = "Called twice with the same patch tokens, the module gives two results: it draws numbers in "
            raise Wrong("token-drawn-anew", f"{sentence}forward.")
        # Not the numbers that it began with: where they are zeros, a mistake could hide.
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.copy_(draw.normal(1, *parameter.shape)[0])
        out = tensor(feed(layer, x), out.shape, "(B, T, D)", "the output")
        _patches_behind(out, x)
        _one_token_for_all(layer, out, x)
        alone(layer, x)
        same_in_training(layer, x)
        counted(layer, [width], PARAMETERS, dict(width=width), f"D = {width}")
        _learns(layer, x, draw.normal(*out.shape))


def _patches_behind(out: torch.Tensor, x: torch.Tensor) -> None:
    if agree(out[:, 1:], x):
        return
    context = ["Tokens 1 to N of the output are not the patch tokens."]
    added = out[:, 1:] - x
    refuse(PATCHES, dict(out=out, x=x, added=added), context)
    equal(out[:, 1:], x, axes="(B, N, D)", context=context)


def _one_token_for_all(layer: nn.Module, out: torch.Tensor, x: torch.Tensor) -> None:
    token, same = out[:, 0], feed(layer, x[:1].expand_as(x).clone())[:, 0]
    sentence = "The same image gets a different token in each place of the batch: there is one token for each place."
    equal(same, same[:1].expand_as(same), "token-for-each-place", sentence, axes="(B, D)")
    sentence = "The token depends on the image: different patch tokens give different numbers at index 0."
    equal(token, token[:1].expand_as(token), "token-from-the-image", sentence, axes="(B, D)")


def _learns(layer: nn.Module, x: torch.Tensor, weights: torch.Tensor) -> None:
    x = x.clone().requires_grad_()
    out = feed(layer, x)
    if not out.requires_grad:
        raise Wrong("gradient-cut", "No gradient can pass through the module, neither to its token nor to the patches.")
    inputs = [*(p for p in layer.parameters() if p.requires_grad), x]
    *of_parameters, of_x = torch.autograd.grad((weights * out).sum(), inputs, allow_unused=True)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(1)
    moved = not agree(feed(layer, x), out)
    refuse(LEARNS, dict(x=x, out=out, moved=moved, of_x=of_x, of_parameters=of_parameters))


LEARNS = [
    Slip(
        "token-not-used",
        "Token 0 holds zeros, and the parameter is not used.",
        lambda moved, out: not moved and (out[:, 0] == 0).all(),
    ),
    Slip("token-not-used", "The token is a parameter, but the output does not use it.", lambda moved: not moved),
    Slip(
        "token-gradient-cut",
        "The token is a parameter, but no gradient reaches it, so it never changes.",
        lambda of_parameters: all(gradient is None for gradient in of_parameters),
    ),
    Slip(
        "patch-gradient-cut",
        "No gradient reaches the patch tokens, so the patch embedding would not be trained.",
        lambda of_x: of_x is None,
    ),
    Slip(
        "unused-parameters",
        "The output ignores some of the numbers that the module learns.",
        lambda of_parameters, x: (
            sum(int((gradient != 0).sum()) for gradient in of_parameters if gradient is not None) < x.shape[2]
        ),
    ),
]

PATCHES = [
    Slip("patches-zero", "The places of the patches hold zeros.", lambda out: (out[:, 1:] == 0).all()),
    Slip(
        "appended-last",
        "The token comes after the patches: index 0 is the first patch.",
        lambda out, x: agree(out[:, :-1], x),
    ),
    Slip(
        "last-patch-lost",
        "One patch is missing: its place at the end holds something else.",
        lambda out, x: agree(out[:, 1:-1], x[:, :-1]),
    ),
    Slip(
        "first-patch-lost",
        "One patch is missing: its place at the beginning holds something else.",
        lambda out, x: agree(out[:, 2:], x[:, 1:]),
    ),
    Slip("patches-reversed", "The patches are in reverse order.", lambda out, x: agree(out[:, 1:].flip(1), x)),
    Slip(
        "added-to-every-patch",
        "The same vector is added to every patch token.",
        lambda added: agree(added, added[:1, :1].expand_as(added)),
    ),
]

PARAMETERS = [
    Slip(
        "nothing-to-learn",
        "An optimiser finds nothing to train in this module, so the token never changes.",
        lambda right: -right,
    ),
    Slip(
        "one-number",
        "The module learns only one number, and all D numbers of the token are equal.",
        lambda width: 1 - width,
    ),
    Slip("vectors-too-many", "The module learns as many numbers as two tokens have.", lambda width: width),
]
