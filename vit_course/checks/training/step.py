"""Exercise training.step: a training step to debug."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import clip_grad_norm_

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.numbers import real, without_graph
from vit_course.checks.tools.slips import Mistake, named_by_details
from vit_course.checks.tools.table import known, refuse, refuse_number, table


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
    mistakes = [
        Mistake(one.slug, one.sentence, partial(_weights_after_each, one.function))
        for one in table(__name__, "mistakes", right_step)
    ]
    with named_by_details(*known(__name__, "mistakes")):
        _one_step(answer, images[0], labels[0], weight)
        theirs, ours = partial(_weights_after_each, answer), partial(_weights_after_each, right_step)
        same_function(theirs, ours, draws, mistakes, axes="(step, K, D)", differentiable=False)
    _returned_loss(answer, images[0], labels[0], weight)


_LIMIT = 0.5


class _Linear(nn.Module):
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

    def slopes() -> bool:
        return any(p.grad is not None and bool(p.grad.any()) for p in model.parameters())

    steps = []  # for each, whether there were gradients
    optimiser.register_step_post_hook(lambda *_: steps.append(slopes()))
    result = call(answer, model, images, labels, optimiser, _LIMIT)
    refuse(__name__, "one-step", locals())
    without_graph(result)
    real(result)


def _returned_loss(answer, images, labels, weight) -> None:
    model, optimiser = _model_and_optimiser(weight)
    logits = F.linear(images, weight)
    expected = F.cross_entropy(logits, labels).item()
    received = real(call(answer, model, images, labels, optimiser, _LIMIT))
    if math.isclose(received, expected, rel_tol=1e-5):
        return
    details = [f"Expected: {expected:.5f}", f"Received: {received:.5f}"]
    slopes = torch.autograd.functional.jacobian(lambda w: F.cross_entropy(F.linear(images, w), labels), weight)
    with torch.no_grad():
        after = F.cross_entropy(F.linear(images, model.whole()), labels).item()
    refuse_number(__name__, "returned", received, locals(), details)
    raise Wrong("wrong-values", "The weights are right, the returned loss is not.", details)


# ---- the step, and what people do in its place: each clip is of the parameters and the limit


def right_step(model, images, labels, optimiser, max_norm, loss=F.cross_entropy, zero=True, clip=clip_grad_norm_,
               late=False, times=1, part=None):  # fmt: skip
    """A step, and with one of its parts replaced a wrong one."""
    value = loss(model(images[:part]), labels[:part])
    if zero:
        optimiser.zero_grad()
    for _ in range(times):
        value.backward(retain_graph=True)
    parameters = list(model.parameters())
    if not late:
        clip(parameters, max_norm)
    optimiser.step()
    if late:
        clip(parameters, max_norm)
    return value.item()


def _unclipped(parameters, max_norm):
    """Leaves all as it is."""


def probabilities(logits, labels):
    """The loss of probabilities that are taken for logits."""
    return F.cross_entropy(logits.softmax(dim=-1), labels)


def _one_hot(logits, labels):
    return F.one_hot(labels, logits.shape[1]).float()


def _one_by_one(parameters, max_norm):
    for parameter in parameters:
        clip_grad_norm_([parameter], max_norm)


def _times(factor):
    """A clip by a factor of the lengths of the gradients (n,) and the limit."""

    def clip(parameters, max_norm):
        times = factor(torch.stack([p.grad.norm() for p in parameters]), max_norm)
        for parameter in parameters:
            parameter.grad *= times

    return clip


@torch.no_grad()
def _weights_cut(parameters, max_norm):
    for parameter in parameters:
        parameter.clamp_(-max_norm, max_norm)


@torch.no_grad()
def _weights_shortened(parameters, max_norm):
    length = torch.stack([p.norm() for p in parameters]).norm()
    for parameter in parameters:
        parameter *= min(1, max_norm / length)
