"""Exercise vit.independent: a test that finds models whose images depend on their batch mates."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.by_hand import truth
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake

RIGHT = 2  # so many of the models, the first ones, never mix two images


def independent(answer, draw):
    """`answer(model, images)` -> True where the logits of no image depend on the others, False where they do."""
    models = [(kind, mix) for kind in MODELS for mix in kind.forms]
    batches = [_weight_and_images(draw) for _ in range(2)]

    def verdicts(test: Callable) -> list[bool]:
        return [test(Model(*batch, mix).eval(), batch[1].clone()) for batch in batches for _, mix in models]

    found = verdicts(partial(_ask, answer))
    right = [index < RIGHT for index in range(len(models))] * 2
    if found == right:
        return
    place = min((i for i in range(len(found)) if found[i] != right[i]), key=lambda i: i % len(models))
    kind, _ = models[place % len(models)]
    details = [f"Input:    a model. {kind.sentence}", f"Expected: {right[place]}", f"Received: {found[place]}"]
    if all(found):
        sentence = "Every model passes, even those that mix the images of a batch."
        raise Wrong("accepts-everything", sentence, details)
    if not any(found):
        sentence = "No model passes, not even one that never mixes two images."
        raise Wrong("refuses-everything", sentence, details)
    if not any(one == other for one, other in zip(found, right, strict=True)):
        sentence = "The two verdicts are swapped: the answer is True for the models that mix images."
        raise Wrong("verdict-inverted", sentence, details)
    for known in TESTS:
        if any(verdicts(partial(_compare, same)) == found for same in known.forms):
            raise Wrong(known.slug, known.sentence, details)
    sentence = "A correct model is refused" if right[place] else "A model passes whose images depend on others"
    raise Wrong(kind.slug, f"{sentence}: {kind.sentence[0].lower()}{kind.sentence[1:]}", details)


class Model(nn.Module):
    """(B, C, H, W) -> (B, K): logits from the pixels by one matrix, and then what `mix` makes of them.

    Args:
        weight: (C*H*W, K).
        images: (B, C, H, W), with which it will be tried.
        mix: logits, images and the model -> logits.
    """

    def __init__(self, weight: torch.Tensor, images: torch.Tensor, mix: Callable):
        super().__init__()
        self.weight, self.mix = nn.Parameter(weight.clone()), mix
        # By so much of `_others` the faint models change: more than any rounding, less than a careless tolerance.
        self.faint = 0.004 / float(_others(images.flatten(1) @ weight).abs().max())

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.mix(images.flatten(1) @ self.weight, images, self)


def _others(out: torch.Tensor) -> torch.Tensor:
    # (B, 1): how far the mean of the batch lies from an image's own; 0 where it is alone.
    return out.mean() - out.mean(dim=1, keepdim=True)


def _with_mean(out: torch.Tensor, index: int) -> torch.Tensor:
    # The mean of the batch in place of the logits of one image.
    return torch.cat([out[:index], out.mean(dim=0, keepdim=True), out[index + 1 :]])


def _among(chosen: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    # The logits of chosen images (B,) are added up, and each of these has the sum on top of its own.
    chosen = chosen.to(out.dtype)[:, None]  # (B, 1)
    return out + chosen * (chosen.mT @ out)


def _weight_and_images(draw) -> tuple[torch.Tensor, torch.Tensor]:
    batch, classes = draw.sizes(2, low=6)
    channels, height, width = draw.sizes(3, high=4)
    # Numbers with few digits, so that the first model computes without rounding; images differ in brightness. The two
    # bright ones stand in the first half of the batch, the two dark ones in the second.
    brightness = draw.permutation(batch) - batch // 2
    brightness[:2], brightness[-2:] = torch.tensor([30, 34]), torch.tensor([-34, -30])
    images = (3 * draw.normal(batch, channels, height, width)).round() + brightness.view(-1, 1, 1, 1)
    weight = (3 * draw.normal(channels * height * width, classes)).round() / 256  # logits of size 1, about
    return weight, images


def _ask(answer, model: Model, images: torch.Tensor) -> bool:
    # The learner's verdict.
    given = []
    model.register_forward_pre_hook(
        lambda one, args: given.append((tuple(getattr(args[0], "shape", ())), one.training))
    )
    try:
        received = call(answer, model, images)
    except Wrong as wrong:
        if wrong.mistake != "raised-error" or all(len(shape) == 4 for shape, _ in given):
            raise
        sentence = "The model was given something that is not a batch (B, C, H, W): one image is a batch of one."
        raise Wrong("no-batch-axis", sentence, [f"Received: {given[-1][0]}", *wrong.details]) from None
    if any(training for _, training in given):
        sentence = "The model runs in training mode, in which dropout and batch norm make even correct models differ."
        raise Wrong("train-mode-left-on", sentence)
    return truth(received)


# ---- tests that people write: each is known by its verdicts on all models

_close = partial(torch.allclose, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def _compare(same: Callable, model: Model, images: torch.Tensor) -> bool:
    return bool(same(torch.cat([model(image[None]) for image in images]), model(images), model, images))


def _parts(model: Model, images: torch.Tensor, size: int) -> torch.Tensor:
    return torch.cat([model(part) for part in images.split(size)])


MODELS = [
    Mistake("wrong-behaviour", "No image depends on another.", lambda out, images, model: out),
    Mistake(
        "rounding-refused",
        "The logits of an image alone and in the batch differ in the last digit.",
        lambda out, images, model: out * (1 + 2.0**-23) if out.dtype == torch.float32 and len(out) > 1 else out,
    ),
    Mistake(
        "tolerance-too-wide",
        "Logits change by 0.004 with the batch, far more than by rounding.",
        lambda out, images, model: out + model.faint * _others(out),
        lambda out, images, model: out * (1 + model.faint * _others(out)),
    ),
    Mistake(
        "wrong-behaviour",
        "Each image sees the one before it.",
        lambda out, images, model: out + out.roll(1, dims=0),
    ),
    Mistake(
        "one-image-untested",
        "Only the last image sees the others.",
        lambda out, images, model: _with_mean(out, len(out) - 1),
    ),
    Mistake(
        "one-image-untested",
        "Only the first image sees the others.",
        lambda out, images, model: _with_mean(out, 0),
    ),
    Mistake(
        "one-image-untested",
        "Only the image in the middle sees the others.",
        lambda out, images, model: _with_mean(out, len(out) // 2),
    ),
    Mistake(
        "one-image-untested",
        "Only the first image sees another one, the last.",
        lambda out, images, model: torch.cat([out[:1] + out[-1:], out[1:]]) if len(out) > 1 else out,
    ),
    Mistake(
        "parts-of-the-batch",
        "Only two images of the first half see each other.",
        lambda out, images, model: _among(images.flatten(1).mean(dim=1) > 20, out),
    ),
    Mistake(
        "parts-of-the-batch",
        "Only two images of the second half see each other.",
        lambda out, images, model: _among(images.flatten(1).mean(dim=1) < -20, out),
    ),
    Mistake(
        "wrong-behaviour",
        "The mean of the batch is subtracted from every pixel.",
        lambda out, images, model: (images - images.mean()).flatten(1) @ model.weight,
    ),
    Mistake(
        "classes-only",
        "The logits change with the batch, but the winning class stays the same.",
        lambda out, images, model: out + out.mean(),
    ),
    Mistake(
        "one-class-untested",
        "Only the logits of the last class see the other images.",
        lambda out, images, model: torch.cat([out[:, :-1], out[:, -1:] + _others(out)], dim=1),
    ),
    Mistake(
        "wrong-behaviour",
        "The batch raises one logit and lowers another by the same amount.",
        lambda out, images, model: out + out.mean() * F.pad(torch.tensor([1.0, -1.0]), (0, out.shape[1] - 2)),
    ),
    Mistake(
        "wrong-behaviour",
        "Logits rise with the batch.",
        lambda out, images, model: out + out.amax() - out.amax(dim=1, keepdim=True),
    ),
    Mistake(
        "wrong-behaviour",
        "Logits fall with the batch.",
        lambda out, images, model: out - out.amax() + out.amax(dim=1, keepdim=True),
    ),
]

TESTS = [
    Mistake(
        "order-only",
        "Models pass that treat all images of the batch alike: the same images in a different order are not enough.",
        lambda alone, together, model, images: _close(model(images.flip(0)).flip(0), together),
        lambda alone, together, model, images: _close(model(images.roll(1, 0)).roll(-1, 0), together),
    ),
    Mistake(
        "classes-only",
        "Models pass whose logits change with the batch while the winning class stays the same.",
        lambda alone, together, model, images: _close(alone.argmax(1), together.argmax(1)),
        lambda alone, together, model, images: _close(alone.softmax(1), together.softmax(1)),
    ),
    Mistake(
        "one-image-untested",
        "At least one image of the batch is never tested: a model passes in which only that image sees the others.",
        lambda alone, together, model, images: _close(alone[:1], together[:1]),
        lambda alone, together, model, images: _close(alone[-1:], together[-1:]),
        lambda alone, together, model, images: _close(alone[:-1], together[:-1]),
        lambda alone, together, model, images: _close(alone[1:], together[1:]),
        lambda alone, together, model, images: _close(alone[[0, -1]], together[[0, -1]]),
    ),
    Mistake(
        "any-for-all",
        "Models pass in which only some images, or some numbers, stay the same: all of them must.",
        lambda alone, together, model, images: torch.isclose(alone, together, rtol=1e-4, atol=1e-5).any(),
        lambda alone, together, model, images: torch.isclose(alone, together, rtol=1e-4, atol=1e-5).all(1).any(),
    ),
    Mistake(
        "only-sums-compared",
        "Models pass in which two changes cancel each other, as in a sum or a mean.",
        lambda alone, together, model, images: _close(alone.sum(1), together.sum(1)),
        lambda alone, together, model, images: _close(alone.sum(0), together.sum(0)),
        lambda alone, together, model, images: _close(alone.mean(), together.mean()),
    ),
    Mistake(
        "sign-counts",
        "Models pass whose logits only rise, or only fall, with the batch: changes in one direction go unnoticed.",
        lambda alone, together, model, images: (alone - together).max() < 1e-4,
        lambda alone, together, model, images: (together - alone).max() < 1e-4,
    ),
    Mistake(
        "doubled-batch",
        "The batch is only doubled, so properties of the whole batch, such as its mean, stay the same.",
        lambda alone, together, model, images: _close(model(torch.cat([images, images]))[: len(images)], together),
    ),
    Mistake(
        "parts-of-the-batch",
        (
            "Models pass in which only two images see each other: the comparison keeps the two together or "
            "leaves them out."
        ),
        lambda alone, together, model, images: _close(_parts(model, images, -(-len(images) // 2)), together),
        lambda alone, together, model, images: _close(_parts(model, images, 2), together),
        lambda alone, together, model, images: _close(_parts(model, images, len(images) // 2), together),
        lambda alone, together, model, images: _close(model(images[:-1]), together[:-1]),
        lambda alone, together, model, images: _close(model(images[1:]), together[1:]),
    ),
]
