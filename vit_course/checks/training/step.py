"""Exercise training.step: a training step to debug."""

import math
from dataclasses import replace
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import clip_grad_norm_

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.returned import real, without_graph
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, refuse, refuse_number, table

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
    with named_by_details(*known(__name__, "mistakes")):
        received = _one_step(answer, images[0], labels[0], weight)
        slips = table(__name__, "mistakes", right_step)
        mistakes = [replace(one, function=partial(_weights_after_each, one.function)) for one in slips]
        theirs, ours = partial(_weights_after_each, answer), partial(_weights_after_each, right_step)
        same_function(theirs, ours, draws, mistakes, axes="(step, K, D)", differentiable=False)
    _returned_loss(received, images[0], labels[0], weight)


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


def _one_step(answer, images, labels, weight) -> float:
    """What happens in one step, before numbers are compared: mode, gradients, moves. -> the loss that came back."""
    model, optimiser = _model_and_optimiser(weight)

    def slopes() -> bool:
        return any(p.grad is not None and bool(p.grad.any()) for p in model.parameters())

    steps = []  # for each, whether there were gradients
    optimiser.register_step_post_hook(lambda *_: steps.append(slopes()))
    result = call(answer, model, images, labels, optimiser, LIMIT)
    refuse(__name__, "one-step", locals())
    without_graph(result)
    return real(result)


def _returned_loss(received: float, images, labels, weight) -> None:
    logits = F.linear(images, weight)
    expected = F.cross_entropy(logits, labels).item()
    if math.isclose(received, expected, rel_tol=1e-5):
        return
    model, optimiser = _model_and_optimiser(weight)
    right_step(model, images, labels, optimiser, LIMIT)
    after = F.cross_entropy(model(images), labels).item()
    length = torch.autograd.functional.jacobian(lambda w: F.cross_entropy(F.linear(images, w), labels), weight).norm()
    details = [f"Expected: {expected:.5f}", f"Received: {received:.5f}"]
    refuse_number(__name__, "returned", received, locals(), details)
    raise Wrong("wrong-values", "The weights are correct, but the returned loss is not.", details)


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
