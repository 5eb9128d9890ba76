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
from vit_course.checks.tools.mistakes import Known, Slip, named_by_details, refuse, refuse_number, wrong_functions
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
    with named_by_details(*ERRORS):
        received = _one_step(answer, images[0], labels[0], weight)
        slips = wrong_functions(MISTAKES, right_step, pairs=5)
        mistakes = [replace(one, function=partial(_weights_after_each, one.function)) for one in slips]
        theirs, ours = partial(_weights_after_each, answer), partial(_weights_after_each, right_step)
        same_function(theirs, ours, draws, mistakes, axes="(step, K, D)", differentiable=False)
    _returned_loss(real(received), images[0], labels[0], weight)
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
    """What happens in one step, before numbers are compared: mode, gradients, moves. -> the loss as it came back."""
    model, optimiser = _model_and_optimiser(weight)

    def slopes() -> bool:
        return any(p.grad is not None and bool(p.grad.any()) for p in model.parameters())

    steps = []  # for each, whether there were gradients
    optimiser.register_step_post_hook(lambda *_: steps.append(slopes()))
    result = call(answer, model, images, labels, optimiser, LIMIT)
    refuse(ONE_STEP, dict(steps=steps, model=model, slopes=slopes))
    without_graph(result)
    real(result)
    return result


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
    refuse_number(
        RETURNED, received, dict(labels=labels, logits=logits, expected=expected, after=after, length=length), details
    )
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


ERRORS = [
    Known(
        "does not require grad",
        "no-graph",
        "`backward` finds no graph: something between model and loss cuts it, such as argmax, detach or no_grad.",
    ),
    Known(
        "not implemented for '(Long|Int)'",
        "labels-for-logits",
        "The loss got whole numbers instead of logits: its arguments may be swapped.",
    ),
]

MISTAKES = {
    "loss": [
        Slip(
            "softmax-twice",
            "The loss gets probabilities, treats them as logits and applies a second softmax to them.",
            twice,
        ),
        Slip(
            "loss-summed",
            "The loss is a sum over the images, so its gradient grows with the batch.",
            lambda z, y: F.cross_entropy(z, y, reduction="sum"),
        ),
        Slip("log-missing", "`nll_loss` expects the logarithms of probabilities and gets something else.", F.nll_loss),
        Slip("uphill", "The weights move along the gradient, so the loss rises.", lambda z, y: -F.cross_entropy(z, y)),
        Slip(
            "loss-divided-again",
            "The loss is divided by a size although it is already a mean.",
            lambda z, y: F.cross_entropy(z, y) / len(z),
            lambda z, y: F.cross_entropy(z, y) / z.shape[1],
        ),
        Slip(
            "labels-smoothed",
            "The labels are smoothed; the exercise does not ask for that.",
            lambda z, y: F.cross_entropy(z, y, label_smoothing=0.1),
        ),
    ],
    "zero": [
        Slip(
            "gradients-added-up",
            "Each step follows the sum of its own gradient and those of the previous steps.",
            False,
        ),
    ],
    "clip": [
        Slip(
            "not-clipped",
            "The weights were updated with a gradient longer than the limit: it was not clipped before the step.",
            lambda ps, n: None,
        ),
        Slip(
            "clipped-number-by-number",
            "Each number of the gradient is clipped at the limit, which changes the direction.",
            torch.nn.utils.clip_grad_value_,
        ),
        Slip(
            "clipped-one-by-one",
            "The gradient of each parameter is clipped separately, which changes the direction of the whole gradient.",
            lambda ps, n: [clip_grad_norm_([p], n) for p in ps],
        ),
        Slip(
            "limit-of-ones-own",
            "The gradient is clipped to a length other than the given limit.",
            lambda ps, n: clip_grad_norm_(ps, 1.0),
            lambda ps, n: clip_grad_norm_(ps, 5.0),
            lambda ps, n: clip_grad_norm_(ps, 2 * n),
        ),
        Slip(
            "short-gradients-lengthened",
            "Every gradient is scaled to the limit, so short ones become longer.",
            times(lambda lengths, n: n / lengths.norm()),
        ),
        Slip(
            "another-norm",
            "The length of the gradient is not measured as the square root of the sum of all squares.",
            lambda ps, n: clip_grad_norm_(ps, n, 1.0),
            lambda ps, n: clip_grad_norm_(ps, n, math.inf),
            times(lambda lengths, n: min(1, n / lengths.norm() ** 2)),
            times(lambda lengths, n: min(1, n / lengths.sum())),
        ),
        Slip(
            "clipped-in-part",
            "The gradient is clipped for only some of the parameters.",
            lambda ps, n: clip_grad_norm_(ps[:1], n),
            lambda ps, n: clip_grad_norm_(ps[-1:], n),
            lambda ps, n: clip_grad_norm_([p for p in ps if p.ndim > 1], n),
            lambda ps, n: clip_grad_norm_(ps[:-1], n),
        ),
        Slip(
            "weights-clipped",
            "The weights are clipped at the limit, not the gradient.",
            lambda ps, n: [p.data.clamp_(-n, n) for p in ps],
        ),
        Slip(
            "gradient-times-limit",
            "The gradient is multiplied by the limit.",
            times(lambda lengths, n: n if lengths.norm() > n else 1),
            times(lambda lengths, n: n),
        ),
    ],
    "late": [
        Slip("not-clipped", "The gradient is clipped only after the weights were updated with it.", True),
    ],
    "times": [
        Slip("backward-twice", "The gradient of one batch is added up twice.", 2),
    ],
    "part": [
        Slip("one-image-only", "The step uses only one image of the batch.", 1),
    ],
    "result": [
        Slip(
            "several-faults",
            "More than one of the bugs remains.",
            lambda model, images, labels, optimiser, max_norm: right_step(
                model, images, labels, optimiser, max_norm, twice, False, lambda ps, n: None
            ),
            lambda model, images, labels, optimiser, max_norm: right_step(
                model, images, labels, optimiser, max_norm, twice, False, late=True
            ),
        ),
    ],
}

ONE_STEP = [
    Slip("model-not-used", "The model was never called.", lambda model: not model.modes),
    Slip(
        "eval-mode-left-on",
        "The model ran in evaluation mode, so dropout would do nothing.",
        lambda model: not model.modes[0],
    ),
    Slip("no-step", "The given optimiser never took a step.", lambda steps: not steps),
    Slip("several-steps", "The optimiser took more than one step on one batch.", lambda steps: len(steps) > 1),
    Slip(
        "step-before-backward",
        "The weights change before the gradients of this batch are computed.",
        lambda steps, slopes: not steps[0] and slopes(),
    ),
    Slip(
        "step-without-gradients",
        "When the optimiser took its step, there were no gradients, or all were 0.",
        lambda steps: not steps[0],
    ),
]

RETURNED = [
    Slip(
        "loss-rounded",
        "The returned loss is rounded.",
        lambda expected: round(expected, 4),
        lambda expected: round(expected, 3),
        lambda expected: round(expected, 2),
        lambda expected: round(expected, 1),
    ),
    Slip("loss-after-the-step", "The returned loss was computed with the weights after the step.", lambda after: after),
    Slip(
        "loss-times-batch",
        "The returned loss is a sum over the images.",
        lambda expected, labels: expected * len(labels),
    ),
    Slip(
        "softmax-twice",
        "The returned loss treats probabilities as logits.",
        lambda logits, labels: twice(logits, labels).item(),
    ),
    Slip("sign-lost", "The returned value is the loss with the opposite sign.", lambda expected: -expected),
    Slip(
        "accuracy-returned",
        "The returned value is the share of correct answers, not the loss.",
        lambda logits, labels: (logits.argmax(dim=1) == labels).float().mean().item(),
    ),
    Slip(
        "gradient-length-returned",
        "The returned value is the length of the gradient, not the loss.",
        lambda length: length,
        LIMIT,
    ),
    Slip(
        "loss-divided-again",
        "The returned loss is divided by the batch size although it is already a mean.",
        lambda expected, labels: expected / len(labels),
    ),
]
