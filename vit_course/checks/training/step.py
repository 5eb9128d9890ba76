"""Exercise training.step: a training step to debug."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.checks.tools.numbers import real, without_graph
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.training.steps import ERRORS, STEPS, right_step, softmax_first


@exercise("7.2", "Debug a training step", section="One step, by hand", difficulty=2, minutes=10)
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

    images, labels, weight = draws[0]
    with named_by_details(*ERRORS):
        _one_step(answer, images[0], labels[0], weight)
        same_function(
            partial(_weights_after_each, answer),
            partial(_weights_after_each, right_step()),
            draws,
            axes="(step, K, D)",
            differentiable=False,
            mistakes=[
                Mistake(slug, sentence, partial(_weights_after_each, function)) for slug, sentence, function in STEPS
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
        raise Wrong("no-step", "The optimiser that was handed in never took a step.")
    if len(gradients) > 1:
        raise Wrong(
            "several-steps",
            "The optimiser took more than one step on one batch.",
            ["Expected: 1 step", f"Received: {len(gradients)} steps"],
        )
    if not gradients[0] and any(p.grad is not None and bool(p.grad.any()) for p in model.parameters()):
        raise Wrong("step-before-backward", "The weights move before the gradients of this batch are there.")
    if not gradients[0]:
        raise Wrong(
            "step-without-gradients", "When the optimiser took its step, there were no gradients, or all were 0."
        )
    without_graph(result)
    real(result)


def _returned_loss(answer, images, labels, weight) -> None:
    model, optimiser = _model_and_optimiser(weight)
    expected = F.cross_entropy(F.linear(images, weight), labels).item()
    received = real(call(answer, model, images, labels, optimiser, _LIMIT))
    if math.isclose(received, expected, rel_tol=1e-5):
        return
    details = [f"Expected: {expected:.5f}", f"Received: {received:.5f}"]
    for slug, sentence, value in _other_numbers(model, images, labels, weight, expected):
        if math.isclose(received, value, rel_tol=1e-4, abs_tol=1e-9):
            raise Wrong(slug, sentence, details)
    raise Wrong("wrong-values", "The weights are right, the returned loss is not.", details)


def _other_numbers(model, images, labels, weight, expected: float):
    """(slug, sentence, number) of what people return in place of the loss; the model after its step."""
    logits = F.linear(images, weight)
    slopes = torch.autograd.functional.jacobian(lambda w: F.cross_entropy(F.linear(images, w), labels), weight)
    lengths = [part.norm().item() for part in (slopes, *slopes.tensor_split(2, dim=1))]
    with torch.no_grad():
        after = F.cross_entropy(F.linear(images, model.whole()), labels).item()
    rounded = [("loss-rounded", "The returned loss is rounded.", round(expected, n)) for n in (4, 3, 2, 1, 0)]
    return (
        *rounded,
        ("loss-rounded", "The returned loss is rounded.", int(expected)),
        ("loss-after-the-step", "The returned loss is that of the weights after the step.", after),
        ("loss-times-batch", "The returned loss is a sum over the images.", expected * len(labels)),
        (
            "softmax-twice",
            "The returned loss is that of probabilities taken for logits.",
            softmax_first(logits, labels).item(),
        ),
        ("sign-lost", "What comes back is the loss with the other sign.", -expected),
        ("exponential-returned", "What comes back is e to the power of the loss.", math.exp(expected)),
        (
            "accuracy-returned",
            "What comes back is the share of right answers, not the loss.",
            (logits.argmax(dim=1) == labels).float().mean().item(),
        ),
        *(
            ("gradient-length-returned", "What comes back is the length of the gradient, not the loss.", length)
            for length in (_LIMIT, *lengths)
        ),
        ("loss-divided-again", "The returned loss is divided by the batch, and it is a mean already.",
         expected / len(labels)),
    )  # fmt: skip
