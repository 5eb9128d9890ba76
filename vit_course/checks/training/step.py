"""Exercise training.step: a training step to debug."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.checks.tools.numbers import real


@exercise("Debug a training step", section="One step, by hand", difficulty=2, minutes=10)
def step(answer, draw):
    """`answer(model, images, labels, optimiser, max_norm)` moves the weights once -> the loss, a float."""
    draws = []
    for _ in range(2):
        classes, features, batch = draw.sizes(3, 3, 9)
        labels = draw.permutation(3 * batch).reshape(3, batch) % classes
        # The gradients of the first two batches are longer than the limit, even where a second softmax has
        # flattened them; that of the last is shorter, even where it is summed.
        scale = torch.tensor([10.0, 7.0, 0.02])[:, None, None]
        draws.append((scale * draw.normal(3, batch, features), labels, 0.1 * draw.normal(classes, features)))

    def reference(images, labels, weight):
        return _weights_after_each(_step(), images, labels, weight)

    images, labels, weight = draws[0]
    _one_step(answer, images[0], labels[0], weight)
    same_function(
        lambda *arguments: _weights_after_each(answer, *arguments),
        reference,
        draws,
        axes="(step, K, D)",
        differentiable=False,
        mistakes=[
            Mistake(slug, sentence, lambda *arguments, f=function: _weights_after_each(f, *arguments))
            for slug, sentence, function in _STEPS
        ],
    )
    _returned_loss(answer, images[0], labels[0], weight)


_LIMIT = 0.5


class _Linear(nn.Module):
    """A linear classifier of two parameters, which remembers the modes in which it was called."""

    def __init__(self, weight):
        super().__init__()
        self.left, self.right = (nn.Parameter(part.clone()) for part in weight.tensor_split(2, dim=1))
        self.modes = []

    def whole(self):
        return torch.cat([self.left, self.right], dim=1)

    def forward(self, x):
        self.modes.append(self.training)
        return F.linear(x, self.whole())


def _model_and_optimiser(weight):
    model = _Linear(weight).eval()  # as an evaluation between two epochs may have left it
    return model, torch.optim.SGD(model.parameters(), lr=3.0, momentum=0.5)


def _weights_after_each(function, images, labels, weight):
    """(3, B, D), (3, B), (K, D) -> (3, K, D): the weights after each of three steps."""
    model, optimiser = _model_and_optimiser(weight)
    after = []
    for x, y in zip(images, labels, strict=True):
        function(model, x, y, optimiser, _LIMIT)
        after.append(model.whole().detach().clone())
    return torch.stack(after)


def _step(loss=F.cross_entropy, zero=True, clip=nn.utils.clip_grad_norm_, clip_late=False):
    def step(model, images, labels, optimiser, max_norm):
        value = loss(model(images), labels)
        if zero:
            optimiser.zero_grad()
        value.backward()
        if clip and not clip_late:
            clip(list(model.parameters()), max_norm)
        optimiser.step()
        if clip_late:
            clip(list(model.parameters()), max_norm)
        return value.item()

    return step


def _softmax_first(logits, labels):
    return F.cross_entropy(logits.softmax(dim=-1), labels)


def _one_by_one(parameters, max_norm):
    for parameter in parameters:
        nn.utils.clip_grad_norm_([parameter], max_norm)


def _always_to_the_limit(parameters, max_norm):
    length = torch.stack([p.grad.norm() for p in parameters]).norm()
    for parameter in parameters:
        parameter.grad *= max_norm / length


_SEVERAL = "More than one of the faults is still there."
_STEPS = [
    (
        "softmax-twice",
        "The loss gets probabilities, takes them for logits and puts a second softmax on them.",
        _step(loss=_softmax_first),
    ),
    (
        "gradients-added-up",
        "Each step follows the sum of its own gradient and those of the steps before.",
        _step(zero=False),
    ),
    (
        "not-clipped",
        "The weights moved by a gradient longer than the limit: nothing had shortened it by then.",
        _step(clip=None),
    ),
    ("several-faults", _SEVERAL, _step(loss=_softmax_first, zero=False)),
    ("several-faults", _SEVERAL, _step(loss=_softmax_first, clip=None)),
    ("several-faults", _SEVERAL, _step(zero=False, clip=None)),
    ("several-faults", _SEVERAL, _step(zero=False, clip_late=True)),
    ("several-faults", _SEVERAL, _step(loss=_softmax_first, zero=False, clip=None)),
    ("several-faults", _SEVERAL, _step(loss=_softmax_first, zero=False, clip_late=True)),
    (
        "clipped-number-by-number",
        "Each number of the gradient is cut at the limit, which changes the direction.",
        _step(clip=nn.utils.clip_grad_value_),
    ),
    (
        "clipped-one-by-one",
        "Each parameter's gradient is shortened by itself, which changes the direction of the whole.",
        _step(clip=_one_by_one),
    ),
    (
        "short-gradients-lengthened",
        "Every gradient is brought to the limit, so short ones become longer.",
        _step(clip=_always_to_the_limit),
    ),
    (
        "limit-of-ones-own",
        "The gradient is shortened to length 1, whatever the limit that was asked for.",
        _step(clip=lambda parameters, _: nn.utils.clip_grad_norm_(parameters, 1.0)),
    ),
    (
        "loss-summed",
        "The loss is a sum over the images, so its gradient grows with the batch.",
        _step(loss=lambda z, y: F.cross_entropy(z, y, reduction="sum")),
    ),
    (
        "uphill",
        "The weights move along the gradient, and the loss rises.",
        _step(loss=lambda z, y: -F.cross_entropy(z, y)),
    ),
]


def _one_step(answer, images, labels, weight) -> None:
    """What happens in one step, before numbers are compared: mode, gradients, moves."""
    model, optimiser = _model_and_optimiser(weight)
    gradients = []
    optimiser.register_step_post_hook(
        lambda *_: gradients.append(any(p.grad is not None and bool(p.grad.any()) for p in model.parameters()))
    )
    result = call(answer, model, images, labels, optimiser, _LIMIT)
    if not model.modes:
        raise Wrong("model-not-used", "The model was never called.")
    if not model.modes[0]:
        raise Wrong("eval-mode-left-on", "The model computed in evaluation mode, so dropout would do nothing.")
    if not gradients:
        raise Wrong("no-step", "The optimiser never took a step, so no weight has moved.")
    if len(gradients) > 1:
        raise Wrong(
            "several-steps",
            "The optimiser took more than one step on one batch.",
            ["Expected: 1 step", f"Received: {len(gradients)} steps"],
        )
    if not gradients[0] and any(p.grad is not None and bool(p.grad.any()) for p in model.parameters()):
        raise Wrong("step-before-backward", "The weights move before the gradients of this batch are there.")
    if not gradients[0]:
        raise Wrong("step-without-gradients", "There were no gradients when the optimiser took its step.")
    real(result)


def _returned_loss(answer, images, labels, weight) -> None:
    model, optimiser = _model_and_optimiser(weight)
    expected = F.cross_entropy(F.linear(images, weight), labels).item()
    received = real(call(answer, model, images, labels, optimiser, _LIMIT))
    if math.isclose(received, expected, rel_tol=1e-3):
        return
    with torch.no_grad():
        after = F.cross_entropy(F.linear(images, model.whole()), labels).item()
    details = [f"Expected: {expected:.3f}", f"Received: {received:.3f}"]
    for slug, sentence, value in (
        ("loss-after-the-step", "The returned loss is that of the weights after the step.", after),
        ("loss-times-batch", "The returned loss is a sum over the images.", expected * len(labels)),
        (
            "softmax-twice",
            "The returned loss is that of probabilities taken for logits.",
            _softmax_first(F.linear(images, weight), labels).item(),
        ),
    ):
        if math.isclose(received, value, rel_tol=1e-3):
            raise Wrong(slug, sentence, details)
    raise Wrong("wrong-values", "The weights are right, the returned loss is not.", details)
