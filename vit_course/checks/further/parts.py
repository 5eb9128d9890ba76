"""Exercise further.parts: a training step in parts, to debug."""

import math
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Mistake, bugs_left, map_functions, refuse, refuse_number
from vit_course.checks.tools.returned import of_type, real, without_graph
from vit_course.checks.tools.tensors import agree

RATE = 0.5


def parts(answer, draw):
    """`answer(model, images, labels, optimiser, parts)` moves the weights once -> the mean loss, a float."""
    draws = []
    # Parts of 3, 3, 1; of 3, 3, 3, 1; of 5, 4: no fixed number of parts, nor of images in a part, fits all.
    for batch, count in ((7, 3), (10, 4), (9, 2)):
        classes, features = draw.sizes(2, low=3)
        labels = draw.permutation(2 * batch).reshape(2, batch) % classes
        draws.append((3 * draw.normal(2, batch, features), labels, draw.normal(classes, features), count))
    steps = [_watch(answer, images[0], labels[0], weight, count) for images, labels, weight, count in draws]
    for step in steps:
        _refuse_calls(step)
    _refuse_bugs(answer, draws)
    for step in steps:
        refuse(STEP, [f"Received: {len(step.moves)} steps"] if len(step.moves) > 1 else (), **step._asdict())
        without_graph(step.result)
        real(step.result)
    mistakes = map_functions(MISTAKES, lambda wrong: partial(_weights_after_each, wrong), right_step)
    after_each = partial(_weights_after_each, answer), partial(_weights_after_each, right_step)
    same_function(*after_each, draws, mistakes, axes="(step, K, D)", differentiable=False)
    _look_at_loss(answer, *draws[0])


def right_step(
    model,
    images,
    labels,
    optimiser,
    parts,
    clear="before",
    scale=lambda length, whole, parts: length / whole,
    of_logits=F.cross_entropy,
    move="after",
):
    """One step, and with what people do wrong: `clear` and `move` "before" all parts, at "each", "after" or "never"."""
    pieces = list(zip(images.chunk(parts), labels.chunk(parts), strict=True))
    total = 0.0
    if clear == "before":
        optimiser.zero_grad()
    for x, y in pieces:
        if clear == "each":
            optimiser.zero_grad()
        loss = scale(len(x), len(images), len(pieces)) * of_logits(model(x), y)
        loss.backward()
        total += loss.item()
        if move == "each":
            optimiser.step()
    if move == "after":
        optimiser.step()
    if clear == "after":
        optimiser.zero_grad()
    return total


def _model_and_optimiser(weight: torch.Tensor) -> tuple[nn.Linear, torch.optim.Optimizer]:
    model = nn.Linear(weight.shape[1], len(weight), bias=False)
    model.weight.data.copy_(weight)
    model.weight.grad = torch.ones_like(weight)  # of what went before
    return model, torch.optim.SGD(model.parameters(), lr=RATE)


def _weights_after_each(function, images, labels, weight, parts) -> torch.Tensor:
    """(2, B, D), (2, B), (K, D) -> (2, K, D): the weights after each of two steps."""
    model, optimiser = _model_and_optimiser(weight)
    after = []
    for x, y in zip(images, labels, strict=True):
        function(model, x, y, optimiser, parts)
        after.append(model.weight.detach().clone())
    return torch.stack(after)


class Step(NamedTuple):
    """What happened in one step of a learner's function."""

    batch: int  # images in it
    count: int  # of parts that were asked for
    calls: list[int]  # how many images the model got in each call
    early: list[int]  # of these, before the optimiser's first step
    learning: list[int]  # of these, with gradients
    moves: list[bool]  # for each step of the optimiser, whether there were gradients
    moved: bool  # whether the weights are others than before
    training: bool  # whether the model is in training mode at the end
    result: Any


def _watch(answer, images, labels, weight, count) -> Step:
    model, optimiser = _model_and_optimiser(weight)
    calls, early, learning, moves = [], [], [], []

    def note_call(_, inputs):
        calls.append(len(inputs[0]))
        if not moves:
            early.append(len(inputs[0]))
        if not moves and torch.is_grad_enabled():
            learning.append(len(inputs[0]))

    model.register_forward_pre_hook(note_call)
    optimiser.register_step_post_hook(lambda *_: moves.append(model.weight.grad is not None))
    result = call(answer, model, images, labels, optimiser, count)
    moved = not model.weight.equal(weight)
    return Step(len(images), count, calls, early, learning, moves, moved, model.training, result)


def _refuse_calls(step: Step) -> None:
    details = [f"Expected: {step.batch} images"]
    details.append(f"Received: calls with {step.calls} images, for {step.count} parts")
    again = sum(step.learning) == step.batch and len(step.calls) > len(step.learning)  # beside the parts
    refuse(CALLS, details, **step._asdict(), again=again)


def _refuse_bugs(answer, draws) -> None:
    """Raises `Wrong` where the weights are those of the faulty version, or of one with some bugs repaired."""
    received = [call(partial(_weights_after_each, answer), *arguments) for arguments in draws]
    for bugs in bugs_left(*BUGS):
        for wrong in bugs.functions(right_step):
            if all(map(agree, received, [_weights_after_each(wrong, *arguments) for arguments in draws])):
                raise Wrong(bugs.slug, bugs.sentence)


def _look_at_loss(answer, images, labels, weight, count) -> None:
    model, optimiser = _model_and_optimiser(weight)
    result = call(answer, model, images[0], labels[0], optimiser, count)
    received = real(result)
    losses = F.cross_entropy(F.linear(images[0], weight), labels[0], reduction="none")  # (B,)
    expected = losses.mean().item()
    if math.isclose(received, expected, rel_tol=2e-4):
        of_type(result, float, "The loss")
        return
    details = [f"Expected: {expected:.3f}", f"Received: {received:.3f}"]
    refuse_number(_wrong_losses(losses, losses.chunk(count)), received, details)
    raise Wrong("wrong-values", "The weights are correct, but the returned loss is not.", details)


BUGS = [
    Mistake(
        "not-scaled",
        "The means of the parts are added, so the gradient grows with the number of parts.",
        {"scale": lambda length, whole, parts: 1.0},
    ),
    Mistake(
        "cleared-each-part",
        "Only the last part changes the weights: the gradients of the others were cleared or never computed.",
        {"clear": "each"},
    ),
    Mistake(
        "step-each-part",
        "The weights change after each part, so later parts are computed with different weights from the first.",
        {"move": "each"},
    ),
]

MISTAKES = [
    Mistake(
        "mean-of-means",
        "Every part counts equally, so an image in a short part counts more than one in a long part.",
        {"scale": lambda length, whole, parts: 1 / parts},
    ),
    Mistake(
        "loss-summed",
        "The losses are summed over the images; the sum is not divided by their number before the backward pass.",
        {"scale": lambda length, whole, parts: length},
    ),
    Mistake(
        "means-taken-for-sums",
        "The mean of each part is divided by the total number of images, as if it were a sum.",
        {"scale": lambda length, whole, parts: 1 / whole},
    ),
    Mistake(
        "divided-by-parts-too",
        "The gradient is divided by the number of images and also by the number of parts.",
        {"scale": lambda length, whole, parts: length / whole / parts},
    ),
    Mistake(
        "uphill",
        "The step goes up the gradient: the loss rises.",
        {"scale": lambda length, whole, parts: -length / whole},
    ),
    Mistake(
        "never-cleared",
        "The gradients of the previous batch are still there and are added to the new ones.",
        {"clear": "never"},
    ),
    Mistake(
        "cleared-after-the-step",
        "Gradients from before the first call are included because they are cleared too late.",
        {"clear": "after"},
    ),
    Mistake(
        "softmax-twice",
        "A softmax is applied before the cross-entropy, which applies one itself.",
        {"of_logits": lambda logits, y: F.cross_entropy(logits.softmax(-1), y)},
    ),
    Mistake(
        "mean-of-means-and-cleared-each-part",
        "Two things are wrong. Every part counts equally, so an image in a short part counts more than one in a long "
        "part. Only the last part changes the weights: the gradients of the others were cleared or never computed.",
        {"scale": lambda length, whole, parts: 1 / parts, "clear": "each"},
    ),
    Mistake(
        "mean-of-means-and-never-cleared",
        "Two things are wrong. Every part counts equally, so an image in a short part counts more than one in a long "
        "part. The gradients of the previous batch are still there and are added to the new ones.",
        {"scale": lambda length, whole, parts: 1 / parts, "clear": "never"},
    ),
]

CALLS = [
    Mistake("model-not-used", "The model was never called.", lambda seen: not seen.calls),
    Mistake(
        "called-after-the-step",
        "The model was called again after the step; the loss comes from the parts, before the step.",
        lambda seen: seen.again and seen.early == seen.learning,
    ),
    Mistake(
        "more-than-once",
        "In addition to the parts, images went through the model again without gradients.",
        lambda seen: seen.again,
    ),
    Mistake(
        "not-in-parts",
        "The whole batch went through the model at once, so no memory is saved.",
        lambda seen: seen.early and max(seen.early) == seen.batch,
    ),
    Mistake(
        "images-left-out",
        "Some images of the batch never went through the model.",
        lambda seen: sum(seen.calls) < seen.batch,
    ),
    Mistake(
        "more-than-once",
        "Images of the batch went through the model more than once.",
        lambda seen: sum(seen.calls) > seen.batch,
    ),
    Mistake(  # without it such an answer would pass, since its weights are right
        "parts-too-long",
        "A part has more images than necessary, so it takes more memory.",
        lambda seen: max(seen.calls) > math.ceil(seen.batch / seen.count),
    ),
    Mistake(
        "more-parts-than-asked",
        "The batch was split into more parts than requested.",
        lambda seen: len(seen.calls) > seen.count,
    ),
]

STEP = [
    Mistake(
        "moved-by-another",
        "The weights have changed, but the given optimiser took no step.",
        lambda seen: not seen.moves and seen.moved,
    ),
    Mistake(
        "no-step", "The given optimiser never took a step, and the weights are unchanged.", lambda seen: not seen.moves
    ),
    Mistake(
        "step-each-part",
        "The weights change after each part, so later parts are computed with different weights from the first.",
        lambda seen: len(seen.moves) > 1 and len(seen.early) < len(seen.calls),
    ),
    Mistake(
        "several-steps",
        "The weights change several times; the exercise asks for one step.",
        lambda seen: len(seen.moves) > 1,
    ),
    Mistake(
        "step-without-gradients",
        "There were no gradients when the optimiser took its step.",
        lambda seen: not seen.moves[0] or not seen.moved,
    ),
    Mistake(
        "mode-changed",
        "The model was in training mode before the call, but is not after it.",
        lambda seen: not seen.training,
    ),
]


def _wrong_losses(losses: torch.Tensor, pieces: tuple[torch.Tensor, ...]) -> list[Mistake]:
    """The numbers that people return, from the losses of all images, (B,), and those of each part."""
    means = [part.mean().item() for part in pieces]
    shares = [part.sum().item() / len(losses) for part in pieces]

    def returned(what: str, number: float) -> Mistake:
        return Mistake("wrong-loss", f"The weights are correct. The returned loss is {what}.", number)

    return [
        returned("the loss of the last part alone", means[-1]),
        returned("only the contribution of the last part", shares[-1]),
        returned("divided by the number of parts again", sum(shares) / len(pieces)),
        returned("the sum of the means of the parts", sum(means)),
        returned("the mean of the means of the parts, but the parts are not equally long", sum(means) / len(means)),
        returned("a sum over the images", losses.sum().item()),
        returned(
            "wrong: each part is weighted by its share twice",
            sum(share * len(part) / len(losses) for share, part in zip(shares, pieces, strict=True)),
        ),
    ]
