"""Exercise further.parts: a training step in parts, to debug."""

import math
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.numbers import real, without_graph
from vit_course.checks.tools.slips import Mistake
from vit_course.checks.tools.table import refuse, refuse_number, table


@exercise("11.3", "Debug a step in parts", section="One gradient from many parts", difficulty=2, minutes=12)
def parts(answer, draw):
    """`answer(model, images, labels, optimiser, parts)` moves the weights once -> the mean loss, a float."""
    draws = []
    for count in (3, 4):
        classes, features = draw.sizes(2, low=3)
        batch = 2 * count + 1 if count == 3 else 3 * count - 2  # 3, 3, 1 and 3, 3, 3, 1
        labels = draw.permutation(2 * batch).reshape(2, batch) % classes
        draws.append((3 * draw.normal(2, batch, features), labels, draw.normal(classes, features), count))
    for draw_of_one in (draws[0], draws[1], (*_nine(draw), 2)):
        _one_batch(answer, draw_of_one)
    same_function(
        partial(_weights_after_each, answer),
        partial(_weights_after_each, right_step),
        draws,
        axes="(step, K, D)",
        differentiable=False,
        mistakes=[
            Mistake(one.slug, one.sentence, partial(_weights_after_each, one.function))
            for one in table(__name__, "mistakes", right_step)
        ],
    )
    _returned_loss(answer, draws[0])


def _nine(draw) -> tuple:
    # Nine images for two parts, which no fixed number of parts, nor of images in a part, fits as well as the others.
    classes, features = draw.sizes(2, low=3)
    labels = draw.permutation(18).reshape(2, 9) % classes
    return 3 * draw.normal(2, 9, features), labels, draw.normal(classes, features)


_RATE = 0.5


@dataclass
class _Call:
    """One call of the model: how many images, and whether before the step and with gradients."""

    images: int
    before_step: bool
    with_gradients: bool


class _Linear(nn.Module):
    """Notes its calls."""

    def __init__(self, weight: torch.Tensor):
        super().__init__()
        self.weight = nn.Parameter(weight.clone())
        self.calls: list[_Call] = []
        self.stepped = False

    def forward(self, x):
        self.calls.append(_Call(len(x), not self.stepped, torch.is_grad_enabled()))
        return F.linear(x, self.weight)


def _model_and_optimiser(weight: torch.Tensor):
    model = _Linear(weight)
    return model, torch.optim.SGD(model.parameters(), lr=_RATE)


def _weights_after_each(function, images, labels, weight, parts) -> torch.Tensor:
    """(2, B, D), (2, B), (K, D) -> (2, K, D): the weights after each of two steps."""
    model, optimiser = _model_and_optimiser(weight)
    after = []
    for x, y in zip(images, labels, strict=True):
        function(model, x, y, optimiser, parts)
        after.append(model.weight.detach().clone())
    return torch.stack(after)


def right_step(model, images, labels, optimiser, parts, clear="once", scale=lambda x, whole, parts: len(x) / whole):
    """One step in parts, and with what people do wrong: `clear` at "once", "each" part or "never"."""
    pieces = list(zip(images.chunk(parts), labels.chunk(parts), strict=True))
    total = 0.0
    if clear == "once":
        optimiser.zero_grad()
    for x, y in pieces:
        if clear == "each":
            optimiser.zero_grad()
        loss = scale(x, len(images), len(pieces)) * F.cross_entropy(model(x), y)
        loss.backward()
        total += loss.item()
    optimiser.step()
    return total


def _running_sum(model, images, labels, optimiser, parts) -> None:
    optimiser.zero_grad()
    total = 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        total = total + F.cross_entropy(model(x), y) * len(x) / len(images)
        total.backward(retain_graph=True)
    optimiser.step()


def _one_batch(answer, draw) -> None:
    """What happens in one step, before numbers are compared: calls, moves."""
    images, labels, weight, count = draw
    model, optimiser = _model_and_optimiser(weight)
    steps = []

    def stepped(*_):
        model.stepped = True
        steps.append(model.weight.grad is not None)

    optimiser.register_step_post_hook(stepped)
    result = call(answer, model, images[0], labels[0], optimiser, count)
    _look_at_calls(model.calls, len(labels[0]), count)
    refuse(__name__, "step", locals(), [f"Received: {len(steps)} steps"] if len(steps) > 1 else ())
    without_graph(result)
    real(result)
    refuse(__name__, "afterwards", locals())


def _look_at_calls(calls: list[_Call], batch: int, count: int) -> None:
    early = [one for one in calls if one.before_step]
    learning = [one for one in early if one.with_gradients]
    through, total = sum(one.images for one in learning), sum(one.images for one in calls)
    again = through == batch and len(calls) > len(learning)  # beside the parts
    # Moved after each part: what is said of the steps names it.
    moved = total == batch and len(learning) == 1 < len(calls)
    shown = [f"Received: calls with {[one.images for one in calls]} images, for {count} parts"]
    refuse(__name__, "calls", locals(), [f"Expected: {batch} images", *shown])


def _returned_loss(answer, draw) -> None:
    images, labels, weight, count = draw
    model, optimiser = _model_and_optimiser(weight)
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
    raise Wrong("wrong-values", "The weights are right, the returned loss is not.", details)
