"""Exercise class_token.module: a class token module, to be fixed."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.mistakes import Mistake, bugs_repaired
from vit_course.checks.tools.modules import alone, build, count, feed, feed_any_batch, same_in_training, token_in_front
from vit_course.checks.tools.parameter_counts import check_count
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
            sentence = "Called twice with the same patch tokens, the module gives two results: forward draws numbers."
            raise Wrong("token-drawn-anew", sentence)
        # Not the numbers that it began with: where they are zeros, a mistake could hide.
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.copy_(draw.normal(1, *parameter.shape)[0])
        out = tensor(feed(layer, x), out.shape, "(B, T, D)", "the output")
        _patches_behind(layer, out, x)
        _one_token_for_all(layer, out, x)
        alone(layer, x)
        same_in_training(layer, x)
        check_count(layer, {width: _wrong_counts(width)}, f"D = {width}")
        _learns(layer, x, draw.normal(*out.shape))


def _patches_behind(layer: nn.Module, out: torch.Tensor, x: torch.Tensor) -> None:
    if agree(out[:, 1:], x):
        return
    if agree(out[:, 1:-1], x[:, :-1]):  # the faulty version overwrites the last patch
        if count(layer) == 0:  # and an optimiser does not find its token
            raise Wrong("still-faulty", bugs_repaired(0, 2))
        sentence = f"{bugs_repaired(1, 2)} One patch is missing: its place at the end holds something else."
        raise Wrong("last-patch-lost", sentence)
    if agree(out[:, :-1], x):
        raise Wrong("appended-last", "The token comes after the patches: index 0 is the first patch.")
    if agree(out[:, 2:], x[:, 1:]):
        raise Wrong("first-patch-lost", "One patch is missing: its place at the beginning holds something else.")
    if agree(out[:, 1:].flip(1), x):
        raise Wrong("patches-reversed", "The patches are in reverse order.")
    added = out[:, 1:] - x
    if agree(added, added[:1, :1].expand_as(added)):
        raise Wrong("added-to-every-patch", "The same vector is added to every patch token.")
    sentence = "Tokens 1 to N of the output are not the patch tokens."
    equal(out[:, 1:], x, sentence=sentence, axes="(B, N, D)")


def _one_token_for_all(layer: nn.Module, out: torch.Tensor, x: torch.Tensor) -> None:
    token, same = out[:, 0], feed(layer, x[:1].expand_as(x).clone())[:, 0]
    sentence = "The same image gets a different token in each place of the batch: there is one token for each place."
    equal(same, same[:1].expand_as(same), "token-for-each-place", sentence, axes="(B, D)")
    sentence = "The token depends on the image: different patch tokens give different numbers at index 0."
    equal(token, token[:1].expand_as(token), "token-from-the-image", sentence, axes="(B, D)")


def _wrong_counts(width: int) -> list[Mistake]:
    unlearned = f"{bugs_repaired(1, 2)} An optimiser finds nothing to train in this module, so the token never changes."
    equal_numbers = "The module learns only one number, and all D numbers of the token are equal."
    return [Mistake("nothing-to-learn", unlearned, -width), Mistake("one-number", equal_numbers, 1 - width)]


def _learns(layer: nn.Module, x: torch.Tensor, weights: torch.Tensor) -> None:
    width, x = x.shape[2], x.clone().requires_grad_()
    out = feed(layer, x)
    if not out.requires_grad:
        raise Wrong("gradient-cut", "No gradient can pass through the module, neither to its token nor to the patches.")
    inputs = [x, *(parameter for parameter in layer.parameters() if parameter.requires_grad)]
    of_x, *of_parameters = torch.autograd.grad((weights * out).sum(), inputs, allow_unused=True)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(1)
    if agree(feed(layer, x), out):
        raise Wrong("token-not-used", "The token is a parameter, but the output does not use it.")
    reached = sum(int((gradient != 0).sum()) for gradient in of_parameters if gradient is not None)
    if reached < width:
        sentence = "The token is a parameter, but it has numbers that no gradient reaches, which never change."
        raise Wrong("token-gradient-cut", sentence, [f"Expected: {width} numbers", f"Received: {reached}"])
    if of_x is None:
        sentence = "No gradient reaches the patch tokens, so the patch embedding would not be trained."
        raise Wrong("patch-gradient-cut", sentence)
