"""Exercise further.parts: a training step in parts, to debug."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.returned import real, without_graph
from vit_course.checks.tools.slips import Mistake
from vit_course.checks.tools.table import refuse, refuse_number, table

RATE = 0.5


def parts(answer, draw):
    """`answer(model, images, labels, optimiser, parts)` moves the weights once -> the mean loss, a float."""
    draws = []
    # Parts of 3, 3, 1; of 3, 3, 3, 1; of 5, 4: no fixed number of parts, nor of images in a part, fits all.
    for batch, count in ((7, 3), (10, 4), (9, 2)):
        classes, features = draw.sizes(2, low=3)
        labels = draw.permutation(2 * batch).reshape(2, batch) % classes
        draws.append((3 * draw.normal(2, batch, features), labels, draw.normal(classes, features), count))
    for images, labels, weight, count in draws:
        _one_step(answer, images[0], labels[0], weight, count)
    slips = table(__name__, "mistakes", right_step)
    mistakes = [Mistake(one.slug, one.sentence, partial(_weights_after_each, one.function)) for one in slips]
    after_each = partial(_weights_after_each, answer), partial(_weights_after_each, right_step)
    same_function(*after_each, draws, mistakes, axes="(step, K, D)", differentiable=False)
    _returned_loss(answer, *draws[0])


def right_step(model, images, labels, optimiser, parts, clear="before", scale=lambda x, whole, parts: len(x) / whole):
    """One step in parts, and with what people do wrong: `clear` at "each" part, "after" the step or "never"."""
    pieces = list(zip(images.chunk(parts), labels.chunk(parts), strict=True))
    total = 0.0
    for place, (x, y) in enumerate(pieces):
        if clear == "each" or (clear == "before" and not place):
            optimiser.zero_grad()
        loss = scale(x, len(images), len(pieces)) * F.cross_entropy(model(x), y)
        loss.backward()
        total += loss.item()
    optimiser.step()
    if clear == "after":
        optimiser.zero_grad()
    return total


def _made(weight: torch.Tensor) -> tuple[nn.Linear, torch.optim.Optimizer]:
    model = nn.Linear(weight.shape[1], len(weight), bias=False)
    model.weight.data.copy_(weight)
    model.weight.grad = torch.ones_like(weight)  # of what went before
    return model, torch.optim.SGD(model.parameters(), lr=RATE)


def _weights_after_each(function, images, labels, weight, parts) -> torch.Tensor:
    """(2, B, D), (2, B), (K, D) -> (2, K, D): the weights after each of two steps."""
    model, optimiser = _made(weight)
    after = []
    for x, y in zip(images, labels, strict=True):
        function(model, x, y, optimiser, parts)
        after.append(model.weight.detach().clone())
    return torch.stack(after)


def _one_step(answer, images, labels, weight, count) -> None:
    """What happens in one step, before numbers are compared: calls, moves."""
    model, optimiser = _made(weight)
    calls, early, learning, steps = [], [], [], []  # images in each call; of these before the step; with gradients

    def called(_, inputs):
        number = len(inputs[0])
        calls.append(number)
        early.extend([number] * (not steps))
        learning.extend([number] * (not steps and torch.is_grad_enabled()))

    model.register_forward_pre_hook(called)
    optimiser.register_step_post_hook(lambda *_: steps.append(model.weight.grad is not None))
    result = call(answer, model, images, labels, optimiser, count)
    batch, total = len(images), sum(calls)
    again = sum(learning) == batch and len(calls) > len(learning)  # beside the parts
    # Moved after each part: what is said of the steps names it.
    moved = total == batch and len(learning) == 1 < len(calls)
    details = [f"Expected: {batch} images", f"Received: calls with {calls} images, for {count} parts"]
    refuse(__name__, "calls", locals(), details)
    refuse(__name__, "step", locals(), [f"Received: {len(steps)} steps"] if len(steps) > 1 else ())
    without_graph(result)
    real(result)


def _returned_loss(answer, images, labels, weight, count) -> None:
    model, optimiser = _made(weight)
    received = real(call(answer, model, images[0], labels[0], optimiser, count))
    losses = F.cross_entropy(F.linear(images[0], weight), labels[0], reduction="none")  # (B,)
    expected = losses.mean().item()
    if math.isclose(received, expected, rel_tol=2e-4):
        return
    pieces = losses.chunk(count)
    means = [part.mean().item() for part in pieces]
    after = F.cross_entropy(F.linear(images[0], model.weight.detach()), labels[0]).item()
    details = [f"Expected: {expected:.3f}", f"Received: {received:.3f}"]
    refuse_number(__name__, "returned", received, locals(), details)
    raise Wrong("wrong-values", "The weights are correct, but the returned loss is not.", details)
