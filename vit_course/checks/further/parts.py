"""Exercise further.parts: a training step in parts, to debug."""

import math
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.checks.tools.numbers import real, without_graph
from vit_course.checks.tools.table import values


@exercise("11.3", "Debug a step in parts", section="One gradient from many parts", difficulty=2, minutes=12)
def parts(answer, draw):
    """`answer(model, images, labels, optimiser, parts)` moves the weights once -> the mean loss, a float."""
    draws = []
    for count in (3, 4):
        classes, features = draw.sizes(2, low=3)
        batch = 2 * count + 1 if count == 3 else 3 * count - 2  # 3, 3, 1 and 3, 3, 3, 1
        labels = draw.permutation(2 * batch).reshape(2, batch) % classes
        draws.append((3 * draw.normal(2, batch, features), labels, draw.normal(classes, features), count))
    for draw_of_one in (draws[0], draws[1], (*_nine(draw), 2)):
        _one_batch(answer, draw_of_one)
    same_function(
        partial(_weights_after_each, answer),
        partial(_weights_after_each, _step()),
        draws,
        axes="(step, K, D)",
        differentiable=False,
        mistakes=[
            Mistake(slug, sentence, partial(_weights_after_each, function)) for slug, sentence, function in _STEPS
        ],
    )
    _returned_loss(answer, draws[0])


def _nine(draw) -> tuple:
    # Nine images for two parts, which no fixed number of parts, nor of images in a part, fits as well as the others.
    classes, features = draw.sizes(2, low=3)
    labels = draw.permutation(18).reshape(2, 9) % classes
    return 3 * draw.normal(2, 9, features), labels, draw.normal(classes, features)


_RATE = 0.5


@dataclass
class _Call:
    """One call of the model: how many images, and whether before the step and with gradients."""

    images: int
    before_step: bool
    with_gradients: bool


class _Linear(nn.Module):
    """Notes its calls."""

    def __init__(self, weight: torch.Tensor):
        super().__init__()
        self.weight = nn.Parameter(weight.clone())
        self.calls: list[_Call] = []
        self.stepped = False

    def forward(self, x):
        self.calls.append(_Call(len(x), not self.stepped, torch.is_grad_enabled()))
        return F.linear(x, self.weight)


def _model_and_optimiser(weight: torch.Tensor):
    model = _Linear(weight)
    return model, torch.optim.SGD(model.parameters(), lr=_RATE)


def _weights_after_each(function, images, labels, weight, parts) -> torch.Tensor:
    """(2, B, D), (2, B), (K, D) -> (2, K, D): the weights after each of two steps."""
    model, optimiser = _model_and_optimiser(weight)
    after = []
    for x, y in zip(images, labels, strict=True):
        function(model, x, y, optimiser, parts)
        after.append(model.weight.detach().clone())
    return torch.stack(after)


def _step(clear="once", scale="share"):
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
                "means-over-images": 1 / len(images),
                "over-length": 1 / len(x),
                "share-inverted": len(images) / len(x),
                "sum-over-parts": len(x) / len(pieces),
            }[scale]
            loss = factor * F.cross_entropy(model(x), y)
            loss.backward()
            total += loss.item()
        optimiser.step()
        return total

    return step


def _running_sum(model, images, labels, optimiser, parts) -> None:
    optimiser.zero_grad()
    total = 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        total = total + F.cross_entropy(model(x), y) * len(x) / len(images)
        total.backward(retain_graph=True)
    optimiser.step()


_CLEARED = "Only the last part moves the weights: the gradients of the others are cleared, or were never computed."
_MOVED = "The weights move after each part, so later parts are computed with other weights than the first."
_STEPS = [
    *((slug, sentence, _step(scale=scale)) for scale, (slug, sentence) in values(__name__, "scales").items()),
    ("cleared-each-part", _CLEARED, _step(clear="each")),
    *(
        (f"cleared-each-part-and-{slug}", f"{_CLEARED} And its share is not right either.", _step("each", scale=scale))
        for scale, (slug, _) in values(__name__, "scales").items()
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
        "backward-through-the-sum",
        "The sum so far goes backward after each part, so that the first part counts once for every part.",
        _running_sum,
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

    def stepped(*_):
        model.stepped = True
        steps.append(model.weight.grad is not None)

    optimiser.register_step_post_hook(stepped)
    result = call(answer, model, images[0], labels[0], optimiser, count)
    _look_at_calls(model.calls, len(labels[0]), count)
    if not steps and not model.weight.equal(weight):
        raise Wrong("moved-by-another", "The weights have moved, and the optimiser that was given took no step.")
    if not steps:
        raise Wrong("no-step", "The optimiser that was given never took a step, and the weights are as they were.")
    if len(steps) > 1:
        again = any(not one.before_step for one in model.calls)
        slug, sentence = ("step-each-part", _MOVED) if again else ("several-steps", "The weights move several times.")
        raise Wrong(slug, sentence, ["Expected: 1 step", f"Received: {len(steps)} steps"])
    if any(group["lr"] != _RATE for group in optimiser.param_groups):
        raise Wrong("rate-changed", "The learning rate of the optimiser is another after the call.")
    if not steps[0] or (model.weight == weight).all():
        raise Wrong("step-without-gradients", "There were no gradients when the optimiser took its step.")
    without_graph(result)
    real(result)
    if not model.training:
        raise Wrong("mode-changed", "The model was in training mode before the call and is not after it.")


def _look_at_calls(calls: list[_Call], batch: int, count: int) -> None:
    if not calls:
        raise Wrong("model-not-used", "The model was never called.")
    shown = [f"Received: calls with {[one.images for one in calls]} images, for {count} parts"]
    learning = [one for one in calls if one.before_step and one.with_gradients]
    through = sum(one.images for one in learning)
    if through == batch and len(calls) > len(learning):
        late = [one for one in calls if not one.before_step]
        if late and len(late) == len(calls) - len(learning):
            sentence = "The model was called again after the step: the loss is that of the parts, from before it."
            raise Wrong("called-after-the-step", sentence, shown)
        sentence = "Beside the parts, images went through the model once more without gradients."
        raise Wrong("more-than-once", sentence, [f"Expected: {batch} images", *shown])
    sizes = [one.images for one in calls if one.before_step]
    if max(sizes, default=0) == batch:
        raise Wrong("not-in-parts", "The whole batch went through the model at once, so no memory is saved.", shown)
    total = sum(one.images for one in calls)
    if total < batch:
        sentence = "Some images of the batch never went through the model."
        raise Wrong("images-left-out", sentence, [f"Expected: {batch} images", *shown])
    if total == batch and len(learning) < len(calls) and len(learning) == 1:
        return  # moved after each part: what is said of the steps names it
    if total > batch:
        sentence = "Images of the batch went through the model more than once."
        raise Wrong("more-than-once", sentence, [f"Expected: {batch} images", *shown])
    if max(one.images for one in calls) > math.ceil(batch / count):
        raise Wrong("parts-too-long", "A part has more images than it need have, and so takes more memory.", shown)
    if len(calls) > count:
        raise Wrong("more-parts-than-asked", "The batch went through in more parts than were asked for.", shown)


def _returned_loss(answer, draw) -> None:
    images, labels, weight, count = draw
    model, optimiser = _model_and_optimiser(weight)
    received = real(call(answer, model, images[0], labels[0], optimiser, count))
    losses = F.cross_entropy(F.linear(images[0], weight), labels[0], reduction="none")  # (B,)
    expected = losses.mean().item()
    if math.isclose(received, expected, rel_tol=2e-4):
        return
    means = [part.mean().item() for part in losses.chunk(count)]
    twice = sum(part.sum().item() * len(part) for part in losses.chunk(count)) / len(losses) ** 2
    after = F.cross_entropy(F.linear(images[0], model.weight.detach()), labels[0]).item()
    details = [f"Expected: {expected:.3f}", f"Received: {received:.3f}"]
    for sentence, value in (
        ("The returned loss is that of the last part alone.", means[-1]),
        (
            "The returned loss is the share of the last part alone.",
            means[-1] * len(losses.chunk(count)[-1]) / len(losses),
        ),
        ("The returned loss is that of the first part alone.", means[0]),
        (
            "The returned loss is the share of the first part alone.",
            means[0] * len(losses.chunk(count)[0]) / len(losses),
        ),
        ("The returned loss is divided by the number of parts once more.", expected / len(means)),
        ("The returned loss is the sum of the parts' means.", sum(means)),
        ("The returned loss is the mean of the parts' means: the parts are not equally long.", sum(means) / len(means)),
        ("The returned loss is a sum over the images.", expected * len(losses)),
        ("In the returned loss each part has its share twice.", twice),
        ("The returned loss is that of the weights after the step.", after),
    ):
        if math.isclose(received, value, rel_tol=1e-3):
            raise Wrong("wrong-loss", f"The weights are right. {sentence}", details)
    raise Wrong("wrong-values", "The weights are right, the returned loss is not.", details)
