"""Answers to exercise training.step."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import right, unforeseen, wrong


@right("training.step")
def ten_lines(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimiser.step()
    return loss.item()


@right("training.step")
def cleared_at_the_end(model, images, labels, optimiser, max_norm):
    model.train()
    log_p = model(images).log_softmax(dim=1)
    loss = -log_p[torch.arange(len(labels)), labels].mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    optimiser.step()
    model.zero_grad()
    return loss.detach()


@right("training.step")
def clipped_by_hand(model, images, labels, optimiser, max_norm):
    for module in model.modules():
        module.training = True
    loss = nn.CrossEntropyLoss()(model(images), labels)
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    length = math.sqrt(sum(g.square().sum().item() for g in gradients))
    for p, g in zip(model.parameters(), gradients, strict=True):
        p.grad = g * min(1.0, max_norm / length)
    optimiser.step()
    return loss.detach().numpy()


@right("training.step")
def with_a_closure(model, images, labels, optimiser, max_norm):
    def closure():
        optimiser.zero_grad(set_to_none=False)
        loss = F.nll_loss(F.log_softmax(model(images), -1), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        return loss

    model.train()
    return float(optimiser.step(closure))


class Step:
    """A step with parts that can be left out or done wrongly."""

    def __init__(self, name, **changes):
        self.__name__ = name
        self.changes = changes

    def __call__(self, model, images, labels, optimiser, max_norm):
        do = dict(mode=True, zero=True, clip="before", softmax=False) | self.changes
        model.train(do["mode"])
        logits = model(images)
        loss = do.get("loss", F.cross_entropy)(logits.softmax(-1) if do["softmax"] else logits, labels)
        if do["zero"]:
            optimiser.zero_grad()
        loss.backward()
        clip = do.get("clip_with", nn.utils.clip_grad_norm_)
        if do["clip"] == "before":
            clip(list(model.parameters()), max_norm)
        optimiser.step()
        if do["clip"] == "after":
            clip(list(model.parameters()), max_norm)
        return do.get("number", torch.Tensor.item)(loss)


def _one_by_one(parameters, max_norm):
    for p in parameters:
        p.grad = p.grad * min(1.0, max_norm / p.grad.norm().item())


def _matrices_alone(parameters, max_norm):
    nn.utils.clip_grad_norm_([p for p in parameters if p.ndim > 1], max_norm)


def _unit(parameters, max_norm):
    length = torch.cat([p.grad.flatten() for p in parameters]).norm()
    for p in parameters:
        p.grad = p.grad / length * max_norm


for slug, changes in (
    ("softmax-twice", dict(softmax=True)),
    ("gradients-added-up", dict(zero=False)),
    ("not-clipped", dict(clip=None)),
    ("not-clipped", dict(clip="after")),
    ("softmax-twice-and-gradients-added-up", dict(softmax=True, zero=False)),
    ("softmax-twice-and-not-clipped", dict(softmax=True, clip="after")),
    ("gradients-added-up-and-not-clipped", dict(zero=False, clip="after")),
    ("gradients-added-up-and-not-clipped", dict(zero=False, clip=None)),
    ("several-faults", dict(softmax=True, zero=False, clip="after")),
    ("eval-mode-left-on", dict(mode=False)),
    ("clipped-number-by-number", dict(clip_with=nn.utils.clip_grad_value_)),
    ("clipped-one-by-one", dict(clip_with=_one_by_one)),
    ("clipped-in-part", dict(clip_with=_matrices_alone)),
    ("short-gradients-lengthened", dict(clip_with=_unit)),
    ("limit-of-ones-own", dict(clip_with=lambda parameters, _: nn.utils.clip_grad_norm_(parameters, 1))),
    ("loss-summed", dict(loss=nn.CrossEntropyLoss(reduction="sum"))),
    ("uphill", dict(loss=lambda z, y: -F.cross_entropy(z, y))),
    ("another-norm", dict(clip_with=lambda parameters, n: nn.utils.clip_grad_norm_(parameters, n, norm_type=1))),
    ("clipped-in-part", dict(clip_with=lambda parameters, n: nn.utils.clip_grad_norm_(parameters[:1], n))),
    ("weights-clipped", dict(clip_with=lambda parameters, n: [p.data.clamp_(-n, n) for p in parameters])),
    ("log-missing", dict(loss=F.nll_loss)),
    ("labels-smoothed", dict(loss=lambda z, y: F.cross_entropy(z, y, label_smoothing=0.1))),
    ("loss-divided-again", dict(loss=lambda z, y: F.cross_entropy(z, y) / len(y))),
    ("loss-divided-again", dict(loss=lambda z, y: F.cross_entropy(z, y) / z.shape[1])),
    ("no-graph", dict(loss=lambda z, y: F.mse_loss(z.argmax(1).float(), y.float()))),
    ("labels-for-logits", dict(loss=lambda z, y: F.cross_entropy(y, z))),
    ("graph-returned", dict(number=lambda loss: loss)),
):
    wrong("training.step", slug)(Step(slug, **changes))


@wrong("training.step", "no-step")
def never_moves(model, images, labels, optimiser, max_norm):
    model.train()
    optimiser.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    return loss.item()


@wrong("training.step", "step-without-gradients")
def cleared_too_late(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimiser.zero_grad()
    optimiser.step()
    return loss.item()


@wrong("training.step", "step-without-gradients")
def no_backward(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    optimiser.step()
    return loss.item()


@wrong("training.step", "step-before-backward")
def moves_first(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    optimiser.step()
    optimiser.zero_grad()
    loss.backward()
    return loss.item()


@wrong("training.step", "several-steps")
def image_by_image(model, images, labels, optimiser, max_norm):
    return sum(ten_lines(model, x[None], y[None], optimiser, max_norm) for x, y in zip(images, labels, strict=True))


@wrong("training.step", "loss-after-the-step")
def measured_late(model, images, labels, optimiser, max_norm):
    ten_lines(model, images, labels, optimiser, max_norm)
    return F.cross_entropy(model(images), labels).item()


@wrong("training.step", "loss-times-batch")
def returns_sum(model, images, labels, optimiser, max_norm):
    return ten_lines(model, images, labels, optimiser, max_norm) * len(images)


def _returns(slug, change):
    @wrong("training.step", slug)
    def answer(model, images, labels, optimiser, max_norm):
        before = copy.deepcopy(model)
        loss = ten_lines(model, images, labels, optimiser, max_norm)
        return change(loss, (before(images).argmax(1) == labels).float().mean().item())


_returns("loss-rounded", lambda loss, _: round(loss, 2))
_returns("accuracy-returned", lambda _, right: right)
_returns("sign-lost", lambda loss, _: -loss)


@wrong("training.step", "returned-nothing")
def returns_nothing(model, images, labels, optimiser, max_norm):
    ten_lines(model, images, labels, optimiser, max_norm)


@wrong("training.step", "model-not-used")
def a_copy(model, images, labels, optimiser, max_norm):
    return ten_lines(copy.deepcopy(model), images, labels, optimiser, max_norm)


@unforeseen("training.step")
def third_of_the_loss(model, images, labels, optimiser, max_norm):
    return Step("third", loss=lambda z, y: F.cross_entropy(z, y) / 3.3)(model, images, labels, optimiser, max_norm)


@unforeseen("training.step")
def another_number(model, images, labels, optimiser, max_norm):
    return ten_lines(model, images, labels, optimiser, max_norm) + 1


def _by_hand(mistake, factor):
    @wrong("training.step", mistake)
    def answer(model, images, labels, optimiser, max_norm):
        model.train()
        loss = F.cross_entropy(model(images), labels)
        optimiser.zero_grad()
        loss.backward()
        gradients = [p.grad for p in model.parameters()]
        for gradient, change in zip(gradients, factor([g.norm() for g in gradients], max_norm), strict=True):
            gradient *= change
        optimiser.step()
        return loss.item()


def _of_all(change):
    """(lengths, limit) -> a factor for all, from the length of all."""
    return lambda lengths, limit: [change(torch.stack(lengths).norm(), limit)] * len(lengths)


_by_hand("another-norm", _of_all(lambda length, limit: min(1.0, limit / length**2)))
_by_hand("another-norm", lambda lengths, limit: [min(1.0, limit / sum(lengths))] * len(lengths))
_by_hand("gradient-times-limit", _of_all(lambda length, limit: limit if length > limit else 1.0))
_by_hand("limit-of-ones-own", _of_all(lambda length, limit: 1 / length if length > limit else 1.0))
_by_hand("only-short-gradients-changed", _of_all(lambda length, limit: limit / length if length < limit else 1.0))


@wrong("training.step", "gradient-length-returned")
def what_the_clipping_returns(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    optimiser.zero_grad()
    loss.backward()
    length = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimiser.step()
    return length.item()


@wrong("training.step", "weights-clipped")
def weights_shortened(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    optimiser.zero_grad()
    loss.backward()
    with torch.no_grad():
        length = torch.cat([p.flatten() for p in model.parameters()]).norm()
        for p in model.parameters():
            p *= min(1.0, max_norm / length)
    optimiser.step()
    return loss.item()
