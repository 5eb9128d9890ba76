"""Exercise further.parts: a training step in parts, to debug."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.checks.tools.numbers import real


@exercise("Debug a step in parts", section="One gradient from many parts", difficulty=2, minutes=12)
def parts(answer, draw):
    """`answer(model, images, labels, optimiser, parts)` moves the weights once -> the mean loss, a float."""
    draws = []
    for count in (3, 4):
        classes, features = draw.sizes(2, low=3)
        batch = 2 * count + 1 if count == 3 else 3 * count - 2  # 3, 3, 1 and 3, 3, 3, 1
        labels = draw.permutation(2 * batch).reshape(2, batch) % classes
        draws.append((3 * draw.normal(2, batch, features), labels, draw.normal(classes, features), count))
    _one_batch(answer, draws[0])
    same_function(
        lambda *arguments: _weights_after_each(answer, *arguments),
        lambda images, labels, weight, parts: _weights_after_each(_step(), images, labels, weight, parts),
        draws,
        axes="(step, K, D)",
        differentiable=False,
        mistakes=[
            Mistake(slug, sentence, lambda *arguments, f=function: _weights_after_each(f, *arguments))
            for slug, sentence, function in _STEPS
        ],
    )
    _returned_loss(answer, draws[0])


class _Linear(nn.Module):
    """Notes how many images each call has."""

    def __init__(self, weight: torch.Tensor):
        super().__init__()
        self.weight = nn.Parameter(weight.clone())
        self.calls = []

    def forward(self, x):
        self.calls.append(len(x))
        return F.linear(x, self.weight)


def _model_and_optimiser(weight: torch.Tensor):
    model = _Linear(weight)
    return model, torch.optim.SGD(model.parameters(), lr=0.5)


def _weights_after_each(function, images, labels, weight, parts) -> torch.Tensor:
    """(2, B, D), (2, B), (K, D) -> (2, K, D): the weights after each of two steps."""
    model, optimiser = _model_and_optimiser(weight)
    after = []
    for x, y in zip(images, labels, strict=True):
        function(model, x, y, optimiser, parts)
        after.append(model.weight.detach().clone())
    return torch.stack(after)


def _step(clear="once", move="once", scale="share"):
    # One step in parts, with what people do wrong.
    def step(model, images, labels, optimiser, parts):
        pieces = list(zip(images.chunk(parts), labels.chunk(parts), strict=True))
        total = 0.0
        if clear == "once":
            optimiser.zero_grad()
        for x, y in pieces:
            if clear == "each":
                optimiser.zero_grad()
            factor = {
                "share": len(x) / len(images),
                "none": 1.0,
                "equal": 1 / len(pieces),
                "sum": float(len(x)),
                "sum-over-parts": len(x) / len(pieces),
            }[scale]
            loss = factor * F.cross_entropy(model(x), y)
            loss.backward()
            total += loss.item()
            if move == "each":
                optimiser.step()
        if move == "once":
            optimiser.step()
        return total

    return step


_CLEARED = "The gradients are cleared before each part, so only the last part moves the weights."
_MOVED = "The weights move after each part, so later parts are computed with other weights than the first."
_SCALES = {
    "none": (
        "not-scaled",
        "The means of the parts are added: the gradient is as many times too long as there are parts.",
    ),
    "equal": (
        "mean-of-means",
        "Every part counts alike: an image in a short part weighs more than one in a long part.",
    ),
    "sum": ("loss-summed", "The losses are summed over the images and never divided."),
    "sum-over-parts": ("divided-by-parts", "The sum of the losses over the images is divided by the number of parts."),
}
_STEPS = [
    *((slug, sentence, _step(scale=scale)) for scale, (slug, sentence) in _SCALES.items()),
    ("cleared-each-part", _CLEARED, _step(clear="each")),
    *(
        (f"cleared-each-part-and-{slug}", f"{_CLEARED} And its share is not right either.", _step("each", scale=scale))
        for scale, (slug, _) in _SCALES.items()
    ),
    ("never-cleared", "The gradients of the batch before are still there and are added.", _step(clear="never")),
    (
        "never-cleared",
        "The gradients of the batch before are still there and are added, and the parts do not have their share.",
        _step(clear="never", scale="equal"),
    ),
    (
        "never-cleared",
        "The gradients of the batch before are still there and are added, and the parts do not have their share.",
        _step(clear="never", scale="none"),
    ),
    (
        "uphill",
        "The step goes up the gradient: the loss rises.",
        lambda model, images, labels, optimiser, parts: _uphill(model, images, labels, optimiser),
    ),
]


def _uphill(model, images, labels, optimiser) -> None:
    optimiser.zero_grad()
    (-F.cross_entropy(model(images), labels)).backward()
    optimiser.step()


def _one_batch(answer, draw) -> None:
    """What happens in one step, before numbers are compared: calls, moves."""
    images, labels, weight, count = draw
    model, optimiser = _model_and_optimiser(weight)
    steps = []
    optimiser.register_step_post_hook(lambda *_: steps.append(model.weight.grad is not None))
    result = call(answer, model, images[0], labels[0], optimiser, count)
    if not model.calls:
        raise Wrong("model-not-used", "The model was never called.")
    batch = len(labels[0])
    if max(model.calls) == batch:
        sentence = "The whole batch went through the model at once, so no memory is saved."
        raise Wrong("not-in-parts", sentence, [f"Received: calls with {model.calls} images"])
    if sum(model.calls) < batch:
        sentence = "Some images of the batch never went through the model."
        raise Wrong("images-left-out", sentence, [f"Expected: {batch} images", f"Received: {model.calls} images"])
    if sum(model.calls) > batch:
        sentence = "Images of the batch went through the model more than once."
        raise Wrong("more-than-once", sentence, [f"Expected: {batch} images", f"Received: {model.calls} images"])
    if max(model.calls) > math.ceil(batch / count):
        sentence = "A part has more images than it need have, and so takes more memory."
        raise Wrong("parts-too-long", sentence, [f"Received: calls with {model.calls} images, for {count} parts"])
    if not steps:
        raise Wrong("no-step", "The optimiser never took a step, so no weight has moved.")
    if len(steps) > 1:
        raise Wrong("step-each-part", _MOVED, ["Expected: 1 step", f"Received: {len(steps)} steps"])
    if not steps[0] or (model.weight == weight).all():
        raise Wrong("step-without-gradients", "There were no gradients when the optimiser took its step.")
    real(result)


def _returned_loss(answer, draw) -> None:
    images, labels, weight, count = draw
    model, optimiser = _model_and_optimiser(weight)
    received = real(call(answer, model, images[0], labels[0], optimiser, count))
    losses = F.cross_entropy(F.linear(images[0], weight), labels[0], reduction="none")  # (B,)
    expected = losses.mean().item()
    if math.isclose(received, expected, rel_tol=1e-3):
        return
    means = [part.mean().item() for part in losses.chunk(count)]
    after = F.cross_entropy(F.linear(images[0], model.weight.detach()), labels[0]).item()
    details = [f"Expected: {expected:.3f}", f"Received: {received:.3f}"]
    for sentence, value in (
        ("The returned loss is that of the last part alone.", means[-1]),
        (
            "The returned loss is the share of the last part alone.",
            means[-1] * len(losses.chunk(count)[-1]) / len(losses),
        ),
        ("The returned loss is the sum of the parts' means.", sum(means)),
        ("The returned loss is the mean of the parts' means: the parts are not equally long.", sum(means) / len(means)),
        ("The returned loss is a sum over the images.", expected * len(losses)),
        ("The returned loss is that of the weights after the step.", after),
    ):
        if math.isclose(received, value, rel_tol=1e-3):
            raise Wrong("wrong-loss", f"The weights are right. {sentence}", details)
    raise Wrong("wrong-values", "The weights are right, the returned loss is not.", details)
