"""Exercise training.step: a training step to debug."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import clip_grad_norm_

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Mistake, bugs_left, map_functions
from vit_course.checks.tools.returned import of_type, real, without_graph

LIMIT = 0.5


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
    received = _one_step(answer, images[0], labels[0], weight)
    without_graph(received)
    loss = real(received)
    mistakes = map_functions(MISTAKES, lambda wrong: partial(_weights_after_each, wrong), right_step)
    theirs, ours = partial(_weights_after_each, answer), partial(_weights_after_each, right_step)
    same_function(theirs, ours, draws, mistakes, axes="(step, K, D)", differentiable=False)
    _compare_losses(loss, images[0], labels[0], weight)
    of_type(received, float, "The loss")


class Linear(nn.Module):
    """A linear classifier of two matrices and a vector, which remembers the modes in which it was called."""

    def __init__(self, weight):
        super().__init__()
        self.left, self.right = (nn.Parameter(part.clone()) for part in weight[:, 1:].tensor_split(2, dim=1))
        self.bias = nn.Parameter(weight[:, 0].clone())
        self.modes = []

    def whole(self):
        return torch.cat([self.bias[:, None], self.left, self.right], dim=1)

    def forward(self, x):
        self.modes.append(self.training)
        return F.linear(x, self.whole())


def _model_and_optimiser(weight):
    model = Linear(weight).eval()  # as an evaluation between two epochs may have left it
    return model, torch.optim.SGD(model.parameters(), lr=3.0, momentum=0.5)


def _weights_after_each(function, images, labels, weight):
    """(3, B, D), (3, B), (K, D) -> (3, K, D): the weights after each of three steps."""
    model, optimiser = _model_and_optimiser(weight)
    after = []
    for x, y in zip(images, labels, strict=True):
        function(model, x, y, optimiser, LIMIT)
        after.append(model.whole().detach().clone())
    return torch.stack(after)


def _one_step(answer, images, labels, weight):
    """Takes one step, and looks at the mode, the gradients and the number of moves. -> the loss as it came back."""
    model, optimiser = _model_and_optimiser(weight)
    steps = []  # for each, whether there were gradients

    def note_gradients(*_) -> None:
        steps.append(any(p.grad is not None and bool(p.grad.any()) for p in model.parameters()))

    optimiser.register_step_post_hook(note_gradients)
    result = call(answer, model, images, labels, optimiser, LIMIT)
    if model.modes[:1] == [False]:
        raise Wrong("eval-mode-left-on", "The model ran in evaluation mode, so dropout would do nothing.")
    if not steps:
        raise Wrong("no-step", "The given optimiser never took a step.")
    if len(steps) > 1:
        raise Wrong("several-steps", "The optimiser took more than one step on one batch.")
    if not steps[0]:
        sentence = "When the optimiser took its step, there were no gradients, or all were 0."
        raise Wrong("step-without-gradients", sentence)
    return result


def _compare_losses(received: float, images, labels, weight) -> None:
    expected = F.cross_entropy(F.linear(images, weight), labels).item()
    if math.isclose(received, expected, rel_tol=1e-5):
        return
    details = [f"Expected: {expected:.5f}", f"Received: {received:.5f}"]
    model, optimiser = _model_and_optimiser(weight)
    right_step(model, images, labels, optimiser, LIMIT)
    if math.isclose(received, F.cross_entropy(model(images), labels).item(), rel_tol=1e-4):
        sentence = "The returned loss was computed with the weights after the step."
        raise Wrong("loss-after-the-step", sentence, details)
    raise Wrong("wrong-values", "The weights are correct, but the returned loss is not.", details)


# ---- the step, and what people do in its place: each clip is of the parameters and the limit


def right_step(
    model, images, labels, optimiser, max_norm, loss=F.cross_entropy, zero=True, clip=clip_grad_norm_, late=False
):
    """A step, and with one of its parts replaced a wrong one."""
    value = loss(model(images), labels)
    if zero:
        optimiser.zero_grad()
    value.backward()
    parameters = list(model.parameters())
    if not late:
        clip(parameters, max_norm)
    optimiser.step()
    if late:
        clip(parameters, max_norm)
    return value.item()


def twice(logits, labels):
    """The loss of probabilities that are taken for logits."""
    return F.cross_entropy(logits.softmax(dim=-1), labels)


def times(factor):
    """A clip by a factor of the lengths of the gradients (n,) and the limit."""

    def clip(parameters, max_norm):
        found = factor(torch.stack([p.grad.norm() for p in parameters]), max_norm)
        for parameter in parameters:
            parameter.grad *= found

    return clip


MISTAKES = [
    *bugs_left(
        Mistake(
            "softmax-twice",
            "The loss gets probabilities, treats them as logits and applies a second softmax to them.",
            {"loss": twice},
        ),
        Mistake(
            "gradients-added-up",
            "Each step follows the sum of its own gradient and those of the previous steps.",
            {"zero": False},
        ),
        Mistake(
            "not-clipped",
            "The weights were updated with a gradient longer than the limit: it was not clipped before the step.",
            {"late": True},
        ),
    ),
    Mistake(
        "loss-summed",
        "The loss is a sum over the images, so its gradient grows with the batch.",
        {"loss": lambda z, y: F.cross_entropy(z, y, reduction="sum")},
    ),
    Mistake(
        "labels-smoothed",
        "The labels are smoothed; the exercise does not ask for that.",
        {"loss": lambda z, y: F.cross_entropy(z, y, label_smoothing=0.1)},
    ),
    Mistake(
        "clipped-number-by-number",
        "Each number of the gradient is clipped at the limit, which changes the direction.",
        {"clip": torch.nn.utils.clip_grad_value_},
    ),
    Mistake(
        "clipped-one-by-one",
        "The gradient of each parameter is clipped separately, which changes the direction of the whole gradient.",
        {"clip": lambda ps, n: [clip_grad_norm_([p], n) for p in ps]},
    ),
    Mistake(
        "limit-of-ones-own",
        "The gradient is clipped to a length other than the given limit.",
        {"clip": lambda ps, n: clip_grad_norm_(ps, 1.0)},
    ),
    Mistake(
        "short-gradients-lengthened",
        "Every gradient is scaled to the limit, so short ones become longer.",
        {"clip": times(lambda lengths, n: n / lengths.norm())},
    ),
    Mistake(
        "another-norm",
        "The length of the gradient is not measured as the square root of the sum of all squares.",
        {"clip": lambda ps, n: clip_grad_norm_(ps, n, 1.0)},
        {"clip": lambda ps, n: clip_grad_norm_(ps, n, math.inf)},
        {"clip": times(lambda lengths, n: min(1, n / lengths.norm() ** 2))},
        {"clip": times(lambda lengths, n: min(1, n / lengths.sum()))},
    ),
    Mistake(
        "clipped-in-part",
        "The gradient is clipped for only some of the parameters.",
        {"clip": lambda ps, n: clip_grad_norm_(ps[:1], n)},
        {"clip": lambda ps, n: clip_grad_norm_([p for p in ps if p.ndim > 1], n)},
    ),
    Mistake(
        "weights-clipped",
        "The weights are clipped at the limit, not the gradient.",
        {"clip": lambda ps, n: [p.data.clamp_(-n, n) for p in ps]},
    ),
]
