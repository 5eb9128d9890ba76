"""Training steps for exercise training.step: the right one, and those that people write."""

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.tools.slips import Known


def right_step(loss=F.cross_entropy, zero=True, clip=nn.utils.clip_grad_norm_, clip_late=False, times=1, part=None):
    """A step (model, images, labels, optimiser, max_norm) -> float; the defaults are right."""

    def step(model, images, labels, optimiser, max_norm):
        value = loss(model(images[:part]), labels[:part])
        if zero:
            optimiser.zero_grad()
        for _ in range(times):
            value.backward(retain_graph=True)
        if clip and not clip_late:
            clip(list(model.parameters()), max_norm)
        optimiser.step()
        if clip_late:
            clip(list(model.parameters()), max_norm)
        return value.item()

    return step


def softmax_first(logits, labels):
    """The loss of probabilities that are taken for logits."""
    return F.cross_entropy(logits.softmax(dim=-1), labels)


def _one_by_one(parameters, max_norm):
    for parameter in parameters:
        nn.utils.clip_grad_norm_([parameter], max_norm)


def _always_to_the_limit(parameters, max_norm):
    length = torch.stack([p.grad.norm() for p in parameters]).norm()
    for parameter in parameters:
        parameter.grad *= max_norm / length


def _weights_too(parameters, max_norm):
    with torch.no_grad():
        for parameter in parameters:
            parameter.clamp_(-max_norm, max_norm)


def _where_longer(change):
    # A clip that changes the gradient only where it is longer than the limit.
    def clip(parameters, max_norm):
        lengths = [p.grad.norm() for p in parameters]
        if torch.stack(lengths).norm() > max_norm:
            for parameter in parameters:
                parameter.grad *= change(lengths, max_norm)

    return clip


def _by_the_square(parameters, max_norm):
    square = torch.stack([p.grad.norm() for p in parameters]).norm() ** 2
    for parameter in parameters:
        parameter.grad *= min(1, max_norm / square)


def _by_added_lengths(parameters, max_norm):
    length = sum(p.grad.norm() for p in parameters)
    for parameter in parameters:
        parameter.grad *= min(1, max_norm / length)


def _only_short_ones(parameters, max_norm):
    length = torch.stack([p.grad.norm() for p in parameters]).norm()
    if length < max_norm:
        for parameter in parameters:
            parameter.grad *= max_norm / length


def _weights_shortened(parameters, max_norm):
    with torch.no_grad():
        length = torch.stack([p.norm() for p in parameters]).norm()
        for parameter in parameters:
            parameter *= min(1, max_norm / length)


def _first_to_the_limit(parameters, max_norm):
    nn.utils.clip_grad_norm_(parameters[:1], max_norm)


def _last_to_the_limit(parameters, max_norm):
    nn.utils.clip_grad_norm_(parameters[-1:], max_norm)


def _times_the_limit(parameters, max_norm):
    for parameter in parameters:
        parameter.grad *= max_norm


def _to(length, norm_type=2.0):
    return lambda parameters, max_norm: nn.utils.clip_grad_norm_(parameters, length(max_norm), norm_type)


def _squares(logits, labels):
    return F.mse_loss(logits, F.one_hot(labels, logits.shape[1]).float())


def _yes_or_no(logits, labels):
    return F.binary_cross_entropy_with_logits(logits, F.one_hot(labels, logits.shape[1]).float())


_SEVERAL = "More than one of the faults is still there."
STEPS = [
    (
        "softmax-twice",
        "The loss gets probabilities, takes them for logits and puts a second softmax on them.",
        right_step(loss=softmax_first),
    ),
    (
        "gradients-added-up",
        "Each step follows the sum of its own gradient and those of the steps before.",
        right_step(zero=False),
    ),
    (
        "not-clipped",
        "The weights moved by a gradient longer than the limit: nothing had shortened it by then.",
        right_step(clip=None),
    ),
    ("several-faults", _SEVERAL, right_step(loss=softmax_first, zero=False)),
    ("several-faults", _SEVERAL, right_step(loss=softmax_first, clip=None)),
    ("several-faults", _SEVERAL, right_step(zero=False, clip=None)),
    ("several-faults", _SEVERAL, right_step(zero=False, clip_late=True)),
    ("several-faults", _SEVERAL, right_step(loss=softmax_first, zero=False, clip=None)),
    ("several-faults", _SEVERAL, right_step(loss=softmax_first, zero=False, clip_late=True)),
    (
        "clipped-number-by-number",
        "Each number of the gradient is cut at the limit, which changes the direction.",
        right_step(clip=nn.utils.clip_grad_value_),
    ),
    (
        "clipped-one-by-one",
        "Each parameter's gradient is shortened by itself, which changes the direction of the whole.",
        right_step(clip=_one_by_one),
    ),
    (
        "short-gradients-lengthened",
        "Every gradient is brought to the limit, so short ones become longer.",
        right_step(clip=_always_to_the_limit),
    ),
    (
        "limit-of-ones-own",
        "The gradient is shortened to length 1, whatever the limit that was asked for.",
        right_step(clip=lambda parameters, _: nn.utils.clip_grad_norm_(parameters, 1.0)),
    ),
    (
        "loss-summed",
        "The loss is a sum over the images, so its gradient grows with the batch.",
        right_step(loss=lambda z, y: F.cross_entropy(z, y, reduction="sum")),
    ),
    (
        "uphill",
        "The weights move along the gradient, and the loss rises.",
        right_step(loss=lambda z, y: -F.cross_entropy(z, y)),
    ),
    *(
        ("limit-of-ones-own", "The gradient is shortened to another length than the limit that was asked for.",
         right_step(clip=_to(length)))
        for length in (lambda _: 5.0, lambda _: 2.0, lambda _: 0.1, lambda n: n**2, lambda n: n**0.5, lambda n: 2 * n)
    ),
    *(
        ("another-norm", "The gradient is measured by another norm than the root of the sum of squares.",
         right_step(clip=_to(lambda n: n, norm_type)))
        for norm_type in (1.0, float("inf"))
    ),
    *(
        ("clipped-in-part", "The gradient of some of the parameters is shortened, not that of all.",
         right_step(clip=clip))
        for clip in (_first_to_the_limit, _last_to_the_limit)
    ),
    *(
        ("weights-clipped", "The weights are cut at the limit, not the gradient.", right_step(clip=clip))
        for clip in (_weights_too, _weights_shortened)
    ),
    *(
        ("another-norm", sentence, right_step(clip=clip))
        for sentence, clip in (
            ("The gradient is measured by its square: the root is missing.", _by_the_square),
            ("The lengths of the parameters' gradients are added up, where their squares are.", _by_added_lengths),
        )
    ),
    ("only-short-gradients-changed", "Gradients shorter than the limit are brought to it, and long ones stay long.",
     right_step(clip=_only_short_ones)),
    ("gradient-times-limit", "A gradient longer than the limit is multiplied with it, and not divided by its length.",
     right_step(clip=_where_longer(lambda lengths, limit: limit))),
    ("gradient-times-limit", "The gradient is multiplied with the limit.", right_step(clip=_times_the_limit)),
    ("backward-twice", "The gradient of one batch is added up twice.", right_step(times=2)),
    ("one-image-only", "Only the first image of the batch has a part in the step.", right_step(part=1)),
    ("one-image-missing", "The last image of the batch has no part in the step.", right_step(part=-1)),
    *(
        ("loss-divided-again", "The loss is divided by a size once more, and it is a mean already.",
         right_step(loss=lambda z, y, axis=axis: F.cross_entropy(z, y) / z.shape[axis]))
        for axis in (0, 1)
    ),
    ("softmax-over-the-batch", "A softmax over the images of the batch stands before the loss.",
     right_step(loss=lambda z, y: F.cross_entropy(z.softmax(dim=0), y))),
    ("sigmoid-before-the-loss", "A sigmoid stands before the loss, which takes logits.",
     right_step(loss=lambda z, y: F.cross_entropy(z.sigmoid(), y))),
    ("log-missing", "The loss gets no logarithms of probabilities, and `nll_loss` takes nothing else.",
     right_step(loss=F.nll_loss)),
    ("log-missing", "The loss gets probabilities, and `nll_loss` takes their logarithms.",
     right_step(loss=lambda z, y: F.nll_loss(z.softmax(dim=-1), y))),
    ("another-loss", "The loss is a mean of squares, not a cross-entropy.", right_step(loss=_squares)),
    ("another-loss", "The loss asks of each class by itself, yes or no; it is not the cross-entropy over all classes.",
     right_step(loss=_yes_or_no)),
    *(
        ("labels-smoothed", "The labels are smoothed, which was not asked for.",
         right_step(loss=lambda z, y, by=by: F.cross_entropy(z, y, label_smoothing=by)))
        for by in (0.1, 0.05)
    ),
]  # fmt: skip
_LOSSES = {
    "The loss is that of probabilities.": softmax_first,
    "The loss is a sum over the images.": lambda z, y: F.cross_entropy(z, y, reduction="sum"),
    "The loss lacks a logarithm.": F.nll_loss,
}
_CLIPS = {
    "The gradient is not shortened.": None,
    "Each of its numbers is cut at the limit.": nn.utils.clip_grad_value_,
    "Each parameter's gradient is shortened by itself.": _one_by_one,
    "The gradient is shortened to length 1.": _to(lambda _: 1.0),
}
STEPS += [
    ("several-faults", f"Two things are wrong. {one} {other}", right_step(loss=loss, clip=clip))
    for one, loss in _LOSSES.items()
    for other, clip in _CLIPS.items()
]
ERRORS = (
    Known("does not require grad", "no-graph",
          "`backward` finds no graph: something between model and loss cuts it, such as argmax, detach or no_grad."),
    Known("backward through the graph a second time", "backward-twice", "`backward` runs twice for one batch."),
    Known("not implemented for '(Long|Int)'", "labels-for-logits",
          "Whole numbers stand where logits are expected: the arguments of the loss have changed places, perhaps."),
    Known("has no attribute", "no-such-name", "Your code asks an object or a module for something that it has not."),
)  # fmt: skip
