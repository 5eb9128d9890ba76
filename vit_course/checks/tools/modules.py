"""Builds the learner's module, feeds it, counts what it learns, and looks at how it behaves."""

from collections.abc import Callable, Sequence

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.flat_parameters import FlatParameters
from vit_course.checks.tools.tensors import agree, equal, tensor
from vit_course.checks.tools.words import describe


def build(make: Callable, *arguments, **keywords) -> nn.Module:
    """What the learner's class makes of these arguments, or anything else that makes a module, such as a `partial`."""
    if isinstance(make, nn.Module):
        raise Wrong(
            "instance-not-class",
            f"The check needs the class itself, to build it in several sizes; it got {describe(make)}.",
        )
    if not callable(make):
        raise Wrong("not-callable", f"The check needs a class derived from nn.Module; it got {describe(make)}.")
    try:
        module = call(make, *arguments, **keywords)
    except Wrong as wrong:
        if wrong.mistake != "raised-error":
            raise
        sizes = [*map(describe, arguments), *(f"{name}={describe(value)}" for name, value in keywords.items())]
        name = getattr(make, "__name__", "your class")
        raise with_input(wrong, f"{name}({', '.join(sizes)})") from None
    if not isinstance(module, nn.Module):
        raise Wrong("not-a-module", f"The check needs a class derived from nn.Module; it built {describe(module)}.")
    return module


def feed(module: nn.Module, *inputs):
    """Calls the module as `call` does; an error shows the input, and a call that replaces parameters is a `Wrong`."""
    learned = list(module.parameters())
    try:
        out = call(module, *inputs)
    except Wrong as wrong:
        if wrong.mistake != "raised-error":
            raise
        raise with_input(wrong, ", ".join(f"a {describe(x)}" for x in inputs)) from None
    after = {id(parameter) for parameter in module.parameters()}
    if any(id(parameter) not in after for parameter in learned):
        sentence = "The call replaces the parameters with new ones, but an optimiser still holds the old ones."
        raise Wrong("parameters-replaced", sentence)
    return out


def feed_any_batch(module: nn.Module, x: torch.Tensor, others: Sequence[int] = (1,)):
    """As `feed`; where that raises an error and a batch of another size passes, a `Wrong` that says so."""
    try:
        return feed(module, x)
    except Wrong as wrong:
        if wrong.mistake != "raised-error":
            raise
        size = next((size for size in others if passes(feed, module, x[torch.arange(size) % len(x)])), None)
        if size is None:
            raise
        sentence = "The module accepts a batch of one size, but not a batch of another size."
        details = [f"A batch of {size}: passes", f"A batch of {len(x)}: {wrong.details[-1]}"]
        raise Wrong("one-batch-size", sentence, details) from None


def passes(function: Callable, *arguments) -> bool:
    """Whether the call ends without a `Wrong`."""
    try:
        function(*arguments)
    except Wrong:
        return False
    return True


def with_input(wrong: Wrong, words: str) -> Wrong:
    """The same `Wrong` with the input as its first detail."""
    details = [f"Input:    {words}", *wrong.details]
    return Wrong(wrong.mistake, wrong.sentence, details, wrong.expected, wrong.received)


def token_in_front(module: nn.Module, out, x: torch.Tensor, mistake: str, axes: str) -> None:
    """Raises `Wrong` where the shape of the output shows that no token was put in front of the sequence.

    Args:
        module, out, x: a module (B, N, D) -> (B, N + 1, D), its output, and the patch tokens that it was given.
        mistake, axes: the slug for an unchanged number of tokens, and the axes of the right output.
    """
    batch, number, width = x.shape
    if not isinstance(out, torch.Tensor) or out.shape == (batch, number + 1, width):
        return
    details = [f"Expected: {(batch, number + 1, width)} {axes}", f"Received: {tuple(out.shape)}"]
    if out.shape == (batch + 1, number, width):
        raise Wrong("joined-along-the-batch", "There is one more image instead of one more token.", details)
    if out.shape != x.shape:
        return
    for place, word in ((0, "first"), (-1, "last")):
        changed = x.clone()
        changed[:, place] += 1
        if agree(feed(module, changed), out):
            sentence = f"The sequence is as long as before, but the {word} patch is missing."
            raise Wrong(f"{word}-patch-dropped", sentence, details)
    raise Wrong(mistake, "The sequence is as long as before: no token has been put in front.", details)


def count(module: nn.Module) -> int:
    """How many numbers the module learns."""
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)


def trained_by(module: nn.Module, x: torch.Tensor, draw, through: bool = False) -> None:
    """Raises `Wrong` where a parameter that affects the output has no gradient, or a wrong one.

    Args:
        module: the learner's.
        x: its input.
        draw: of the check.
        through: whether a gradient must also reach the input, for layers before the module to learn.
    """
    out = feed(module, x)
    cut = Wrong(
        "gradient-cut", "Parameters affect the output, but no gradient reaches them, so they could not be trained."
    )
    if not out.requires_grad:
        raise cut
    flat, weights = FlatParameters(list(module.parameters())), draw.normal(*out.shape)
    row, slopes = flat.get(), flat.slopes((out * weights).sum())
    flat.set(torch.where(slopes == 0, row + 1e-3 * draw.normal(len(row)), row))
    nearby = feed(module, x)
    there = flat.slopes((nearby * weights).sum())[slopes == 0].abs()  # 0 by chance, at the kink of a ReLU
    cut_here = not (there > 1e-6 * slopes.abs().max()).any()
    moved = cut_here and (nearby - out).norm() > 1e-5 * out.norm()
    flat.set(row)
    if moved:
        raise cut
    if _cut_on_a_way(flat, lambda: feed(module, x), draw):
        sentence = "The gradient does not match the computation: it is cut on one of its paths to the parameters."
        raise Wrong("gradient-cut", sentence)
    entered = nn.Parameter(x.detach().clone())
    if through and _cut_on_a_way(FlatParameters([entered]), lambda: feed(module, entered), draw):
        sentence = "The gradient does not match the computation: it is cut on one of its paths to the input."
        raise Wrong("gradient-cut", sentence)


def uses_all(module: nn.Module, x: torch.Tensor, draw) -> None:
    """Raises `Wrong` where a number that the module learns has no effect on the output."""
    out = feed(module, x)
    if (FlatParameters(list(module.parameters())).slopes((out * draw.normal(*out.shape)).sum()) == 0).any():
        raise Wrong("unused-parameters", "The output ignores some of the parameters.")


def _cut_on_a_way(flat: FlatParameters, compute: Callable[[], torch.Tensor], draw) -> bool:
    # Compares the gradient with finite differences in a few random directions. A gradient that is cut on one of several
    # paths, such as through a branch, is wrong, but not 0.
    row, out = flat.get(), compute()
    weights = draw.normal(*out.shape)
    slopes = flat.slopes((out * weights).sum())

    def otherwise(size: float) -> bool:
        step, ends = size * draw.normal(len(row)), []
        for sign in (1, -1):
            flat.set(row + sign * step)
            ends.append(compute().detach())
        found = ((ends[0] - ends[1]) * weights).sum() / 2
        return bool((found - slopes @ step).abs() > 0.05 * step.std() * slopes.norm())

    # Long steps meet the kinks of a ReLU, short ones rounding; a cut shows in both.
    cut = all(sum(otherwise(size) for _ in range(3)) > 1 for size in (1e-3, 1e-4))
    flat.set(row)
    return cut


def scatter(module: nn.Module, draw) -> None:
    """Gives each parameter its own random numbers, so that no two parts are alike and none starts at 0 or 1."""
    with torch.no_grad():
        for parameter in module.parameters():
            inputs = parameter.shape[-1] if parameter.ndim > 1 else 4
            parameter.copy_(inputs**-0.5 * draw.normal(*parameter.shape))


def repeats(module: nn.Module, x: torch.Tensor, mistake: str = "random-result") -> None:
    """Raises `Wrong` unless the module, in eval mode, gives the same twice."""
    if not agree(feed(module, x), feed(module, x)):
        sentence = "After eval(), the same input gives different results: dropout is still on, or numbers are drawn."
        raise Wrong(mistake, sentence)


def same_in_training(module: nn.Module, x: torch.Tensor) -> None:
    """Raises `Wrong` unless the module gives the same in training and after eval(); leaves it in eval mode."""
    trained = feed(module.train(), x)
    if not agree(trained, feed(module.eval(), x)):
        sentence = "In training, the output differs from that after eval(): is there dropout in the module?"
        raise Wrong("other-in-training", sentence)


def alone(layer: nn.Module, x: torch.Tensor, axes: str = "(B, T, D)") -> None:
    """Raises `Wrong` unless each image of a batch gives the same output without the others."""
    together = feed(layer, x)
    try:
        apart = torch.cat([tensor(feed(layer, one[None]), (1, *together.shape[1:]), axes) for one in x])
    except Wrong as wrong:
        if wrong.mistake not in ("wrong-shape", "raised-error"):
            raise
        sentence = "The shape is correct for a batch of several, but not of one: an axis of size 1 is not kept."
        raise Wrong("batch-of-one", sentence, wrong.details) from None
    sentence = "The output for one image changes with the other images of the batch."
    equal(apart, together, "batch-mates-matter", sentence, axes=axes)
