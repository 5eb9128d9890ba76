"""Exercise further.parts: a training step in parts, to debug."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Mistake, Slip, refuse, refuse_number, wrong_functions
from vit_course.checks.tools.returned import of_type, real, without_graph

RATE = 0.5


def parts(answer, draw):
    """`answer(model, images, labels, optimiser, parts)` moves the weights once -> the mean loss, a float."""
    draws = []
    # Parts of 3, 3, 1; of 3, 3, 3, 1; of 5, 4: no fixed number of parts, nor of images in a part, fits all.
    for batch, count in ((7, 3), (10, 4), (9, 2)):
        classes, features = draw.sizes(2, low=3)
        labels = draw.permutation(2 * batch).reshape(2, batch) % classes
        draws.append((3 * draw.normal(2, batch, features), labels, draw.normal(classes, features), count))
    for images, labels, weight, count in draws:
        _one_step(answer, images[0], labels[0], weight, count)
    slips = wrong_functions(MISTAKES, right_step, pairs=9)
    mistakes = [Mistake(one.slug, one.sentence, partial(_weights_after_each, one.function)) for one in slips]
    after_each = partial(_weights_after_each, answer), partial(_weights_after_each, right_step)
    same_function(*after_each, draws, mistakes, axes="(step, K, D)", differentiable=False)
    _returned_loss(answer, *draws[0])


def right_step(
    model,
    images,
    labels,
    optimiser,
    parts,
    clear="before",
    scale=lambda x, whole, parts: len(x) / whole,
    of_logits=F.cross_entropy,
    step_after=-1,
):
    """One step in parts, and with what people do wrong: `clear` at "each" part, "after" the step or "never"."""
    pieces = list(zip(images.chunk(parts), labels.chunk(parts), strict=True))
    total = 0.0
    for place, (x, y) in enumerate(pieces):
        if clear == "each" or (clear == "before" and not place):
            optimiser.zero_grad()
        loss = scale(x, len(images), len(pieces)) * of_logits(model(x), y)
        loss.backward()
        total += loss.item()
        if place == step_after % len(pieces):
            optimiser.step()
    if clear == "after":
        optimiser.zero_grad()
    return total


def _made(weight: torch.Tensor) -> tuple[nn.Linear, torch.optim.Optimizer]:
    model = nn.Linear(weight.shape[1], len(weight), bias=False)
    model.weight.data.copy_(weight)
    model.weight.grad = torch.ones_like(weight)  # of what went before
    return model, torch.optim.SGD(model.parameters(), lr=RATE)


def _weights_after_each(function, images, labels, weight, parts) -> torch.Tensor:
    """(2, B, D), (2, B), (K, D) -> (2, K, D): the weights after each of two steps."""
    model, optimiser = _made(weight)
    after = []
    for x, y in zip(images, labels, strict=True):
        function(model, x, y, optimiser, parts)
        after.append(model.weight.detach().clone())
    return torch.stack(after)


def _one_step(answer, images, labels, weight, count) -> None:
    """What happens in one step, before numbers are compared: calls, moves."""
    model, optimiser = _made(weight)
    calls, early, learning, steps = [], [], [], []  # images in each call; of these before the step; with gradients

    def called(_, inputs):
        number = len(inputs[0])
        calls.append(number)
        early.extend([number] * (not steps))
        learning.extend([number] * (not steps and torch.is_grad_enabled()))

    model.register_forward_pre_hook(called)
    optimiser.register_step_post_hook(lambda *_: steps.append(model.weight.grad is not None))
    result = call(answer, model, images, labels, optimiser, count)
    batch, total = len(images), sum(calls)
    again = sum(learning) == batch and len(calls) > len(learning)  # beside the parts
    # Moved after each part: what is said of the steps names it.
    moved = total == batch and len(learning) == 1 < len(calls)
    details = [f"Expected: {batch} images", f"Received: calls with {calls} images, for {count} parts"]
    refuse(
        CALLS,
        dict(
            count=count, again=again, moved=moved, calls=calls, early=early, learning=learning, batch=batch, total=total
        ),
        details,
    )
    refuse(
        STEP,
        dict(weight=weight, model=model, optimiser=optimiser, calls=calls, early=early, steps=steps),
        [f"Received: {len(steps)} steps"] if len(steps) > 1 else (),
    )
    without_graph(result)
    real(result)


def _returned_loss(answer, images, labels, weight, count) -> None:
    model, optimiser = _made(weight)
    result = call(answer, model, images[0], labels[0], optimiser, count)
    received = real(result)
    losses = F.cross_entropy(F.linear(images[0], weight), labels[0], reduction="none")  # (B,)
    expected = losses.mean().item()
    if math.isclose(received, expected, rel_tol=2e-4):
        of_type(result, float, "The loss")
        return
    pieces = losses.chunk(count)
    means = [part.mean().item() for part in pieces]
    after = F.cross_entropy(F.linear(images[0], model.weight.detach()), labels[0]).item()
    details = [f"Expected: {expected:.3f}", f"Received: {received:.3f}"]
    refuse_number(
        RETURNED, received, dict(losses=losses, expected=expected, pieces=pieces, means=means, after=after), details
    )
    raise Wrong("wrong-values", "The weights are correct, but the returned loss is not.", details)


MISTAKES = {
    "scale": [
        Slip(
            "not-scaled",
            "The means of the parts are added, so the gradient grows with the number of parts.",
            lambda x, whole, parts: 1.0,
        ),
        Slip(
            "mean-of-means",
            "Every part counts equally, so an image in a short part counts more than one in a long part.",
            lambda x, whole, parts: 1 / parts,
        ),
        Slip(
            "loss-summed",
            "The losses are summed over the images; the sum is not divided by their number before the backward pass.",
            lambda x, whole, parts: float(len(x)),
        ),
        Slip(
            "means-taken-for-sums",
            "The mean of each part is divided by the total number of images, as if it were a sum.",
            lambda x, whole, parts: 1 / whole,
        ),
        Slip(
            "divided-twice",
            "The mean of each part is divided by the length of the part again.",
            lambda x, whole, parts: 1 / len(x),
        ),
        Slip(
            "share-inverted",
            "The share is inverted: a short part counts more than a long one.",
            lambda x, whole, parts: whole / len(x),
        ),
        Slip(
            "divided-by-parts",
            "The sum of the losses over the images is divided by the number of parts.",
            lambda x, whole, parts: len(x) / parts,
        ),
        Slip(
            "divided-by-parts-too",
            "The gradient is divided by the number of images and also by the number of parts.",
            lambda x, whole, parts: len(x) / whole / parts,
        ),
        Slip(
            "divided-by-images-twice",
            "The gradient is divided by the number of images twice.",
            lambda x, whole, parts: len(x) / whole**2,
        ),
        Slip(
            "parts-for-length",
            "The mean of each part is multiplied by the number of parts, not by the length of the part.",
            lambda x, whole, parts: parts / whole,
        ),
        Slip(
            "divided-by-one-less",
            "The sum of the losses is divided by the number of images minus 1.",
            lambda x, whole, parts: len(x) / (whole - 1),
        ),
    ],
    "clear": [
        Slip(
            "cleared-each-part",
            "Only the last part changes the weights: the gradients of the others were cleared or never computed.",
            "each",
        ),
        Slip(
            "never-cleared",
            "The gradients of the previous batch are still there and are added to the new ones.",
            "never",
        ),
        Slip(
            "cleared-after-the-step",
            "Gradients from before the first call are included because they are cleared too late.",
            "after",
        ),
    ],
    "of_logits": [
        Slip(
            "softmax-twice",
            "A softmax is applied before the cross-entropy, which applies one itself.",
            lambda logits, y: F.cross_entropy(logits.softmax(-1), y),
        ),
    ],
    "step_after": [
        Slip("step-after-the-first-part", "The step is taken after the first part: the others change nothing.", 0),
    ],
    "result": [
        Slip(
            "uphill",
            "The step goes up the gradient: the loss rises.",
            lambda model, images, labels, optimiser, parts: right_step(
                model, images, labels, optimiser, parts, scale=lambda x, whole, parts: -len(x) / whole
            ),
        ),
    ],
}

STEP = [
    Slip(
        "moved-by-another",
        "The weights have changed, but the given optimiser took no step.",
        lambda steps, model, weight: not steps and not model.weight.equal(weight),
    ),
    Slip("no-step", "The given optimiser never took a step, and the weights are unchanged.", lambda steps: not steps),
    Slip(
        "step-each-part",
        "The weights change after each part, so later parts are computed with different weights from the first.",
        lambda steps, early, calls: len(steps) > 1 and len(early) < len(calls),
    ),
    Slip(
        "several-steps",
        "The weights change several times; the exercise asks for one step.",
        lambda steps: len(steps) > 1,
    ),
    Slip(
        "rate-changed",
        "The call changes the learning rate of the optimiser.",
        lambda optimiser: any(group["lr"] != RATE for group in optimiser.param_groups),
    ),
    Slip(
        "step-without-gradients",
        "There were no gradients when the optimiser took its step.",
        lambda steps, model, weight: not steps[0] or (model.weight == weight).all(),
    ),
    Slip(
        "mode-changed",
        "The model was in training mode before the call, but is not after it.",
        lambda model: not model.training,
    ),
]

CALLS = [
    Slip("model-not-used", "The model was never called.", lambda calls: not calls),
    Slip(
        "called-after-the-step",
        "The model was called again after the step; the loss comes from the parts, before the step.",
        lambda again, early, learning: again and early == learning,
    ),
    Slip(
        "more-than-once",
        "In addition to the parts, images went through the model again without gradients.",
        lambda again: again,
    ),
    Slip(
        "not-in-parts",
        "The whole batch went through the model at once, so no memory is saved.",
        lambda early, batch: early and max(early) == batch,
    ),
    Slip(
        "images-left-out", "Some images of the batch never went through the model.", lambda total, batch: total < batch
    ),
    Slip(
        "more-than-once",
        "Images of the batch went through the model more than once.",
        lambda total, batch: total > batch,
    ),
    Slip(
        "number-for-length",
        "A part has as many images as there should be parts: their number is taken for their length.",
        lambda moved, calls, count: not moved and len(calls) != count and {*calls[:-1]} == {count},
    ),
    Slip(
        "parts-too-long",
        "A part has more images than necessary, so it takes more memory.",
        lambda moved, calls, batch, count: not moved and max(calls) > math.ceil(batch / count),
    ),
    Slip(
        "more-parts-than-asked",
        "The batch was split into more parts than requested.",
        lambda moved, calls, count: not moved and len(calls) > count,
    ),
]

RETURNED = [
    Slip(
        "wrong-loss",
        "The weights are correct. The returned loss is the loss of the last part alone.",
        lambda means: means[-1],
    ),
    Slip(
        "wrong-loss",
        "The weights are correct. The returned loss is only the contribution of the last part.",
        lambda means, pieces, losses: means[-1] * len(pieces[-1]) / len(losses),
    ),
    Slip(
        "wrong-loss",
        "The weights are correct. The returned loss is the loss of the first part alone.",
        lambda means: means[0],
    ),
    Slip(
        "wrong-loss",
        "The weights are correct. The returned loss is only the contribution of the first part.",
        lambda means, pieces, losses: means[0] * len(pieces[0]) / len(losses),
    ),
    Slip(
        "wrong-loss",
        "The weights are correct. The returned loss is divided by the number of parts again.",
        lambda expected, means: expected / len(means),
    ),
    Slip(
        "wrong-loss",
        "The weights are correct. The returned loss is the sum of the means of the parts.",
        lambda means: sum(means),
    ),
    Slip(
        "wrong-loss",
        (
            "The weights are correct. The returned loss is the mean of the means of the parts, but the parts are "
            "not equally long."
        ),
        lambda means: sum(means) / len(means),
    ),
    Slip(
        "wrong-loss",
        "The weights are correct. The returned loss is a sum over the images.",
        lambda expected, losses: expected * len(losses),
    ),
    Slip(
        "wrong-loss",
        "The weights are correct. In the returned loss, each part is weighted by its share twice.",
        lambda pieces, losses: sum(part.sum().item() * len(part) for part in pieces) / len(losses) ** 2,
    ),
    Slip(
        "wrong-loss",
        "The weights are correct. The returned loss was computed with the weights after the step.",
        lambda after: after,
    ),
]
