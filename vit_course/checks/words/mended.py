"""Exercise words.mended: the loss of CLIP, to be debugged."""

import torch
import torch.nn.functional as F

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Mistake, bugs_left


def mended(answer, draw):
    """`answer(images, texts, log_scale)`: (B, E), (B, E), () -> ()."""
    draws = [_drawn(draw, 5, 7), _drawn(draw, 8, 3), _drawn(draw, 4, 6)]
    draws[2][2].neg_()  # a scale below 1
    same_function(answer, _loss, draws, MISTAKES)


def _drawn(draw, batch: int, width: int) -> tuple:
    # Vectors of very different lengths; images and texts that go together more often than not.
    images = draw.normal(batch, width) * (0.3 + 3 * draw.uniform(batch, 1))
    texts = images + draw.normal(batch, width)
    return images, texts * (0.3 + 3 * draw.uniform(batch, 1)), 0.5 + draw.uniform(1)[0]


def _unit(x, dim=1):
    return F.normalize(x, dim=dim)


def _own(logits, **options):
    return F.cross_entropy(logits, torch.arange(len(logits)), **options)


def _loss(
    images,
    texts,
    log_scale,
    normalise=_unit,
    scale=lambda log_scale: log_scale.exp(),
    directions=lambda logits: (_own(logits) + _own(logits.T)) / 2,
):
    """The right answer, and with one of its steps replaced a wrong one."""
    return directions(scale(log_scale) * normalise(images) @ normalise(texts).T)


MISTAKES = [
    *bugs_left(
        Mistake(
            "normalised-over-the-batch",
            "Each of the E numbers is normalised over the batch, not each vector over its numbers.",
            {"normalise": lambda x: _unit(x, 0)},
        ),
        Mistake(
            "scale-not-exponentiated",
            "The cosines are multiplied by the logarithm of the scale.",
            {"scale": lambda log_scale: log_scale},
        ),
        Mistake("images-alone", "Only the images choose among the texts.", {"directions": _own}),
    ),
    Mistake(
        "images-not-normalised",
        "Only the texts are normalised.",
        lambda images, texts, log_scale: _loss(images, _unit(texts), log_scale, normalise=lambda x: x),
    ),
    Mistake(
        "texts-not-normalised",
        "Only the images are normalised.",
        lambda images, texts, log_scale: _loss(_unit(images), texts, log_scale, normalise=lambda x: x),
    ),
    Mistake("not-normalised", "The vectors keep their lengths, so these are no cosines.", {"normalise": lambda x: x}),
    Mistake(
        "softmax-for-length",
        "The vectors go through a softmax and do not get length 1.",
        {"normalise": lambda x: x.softmax(dim=1)},
    ),
    Mistake(
        "sum-for-length",
        "The vectors are divided by a sum of their numbers, not by their length.",
        {"normalise": lambda x: x / x.sum(dim=1, keepdim=True)},
        {"normalise": lambda x: F.normalize(x, p=1.0, dim=1)},
    ),
    Mistake(
        "divided-by-scale", "The cosines are divided by the scale.", {"scale": lambda log_scale: (-log_scale).exp()}
    ),
    Mistake("scale-squared", "The scale is applied twice.", {"scale": lambda log_scale: (2 * log_scale).exp()}),
    Mistake(
        "base-ten",
        "The scale is a power of another base than e.",
        {"scale": lambda log_scale: 10**log_scale},
        {"scale": lambda log_scale: 2**log_scale},
    ),
    Mistake("texts-alone", "Only the texts choose among the images.", {"directions": lambda logits: _own(logits.T)}),
    Mistake(
        "directions-added",
        "The losses of the two directions are added, not averaged.",
        {"directions": lambda logits: _own(logits) + _own(logits.T)},
    ),
    Mistake(
        "pairs-summed",
        "The losses of the pairs are added, so the loss grows with the batch.",
        {"directions": lambda logits: (_own(logits, reduction="sum") + _own(logits.T, reduction="sum")) / 2},
    ),
    Mistake(
        "softmax-twice",
        "A softmax is taken before the cross-entropy, which takes one itself.",
        {"directions": lambda logits: (_own(logits.softmax(dim=1)) + _own(logits.T.softmax(dim=1))) / 2},
        {"directions": lambda logits: (_own(logits.softmax(dim=1)) + _own(logits.softmax(dim=1).T)) / 2},
    ),
    Mistake(
        "sigmoid-for-softmax",
        "Each pair is judged by a sigmoid; the exercise asks for the loss of CLIP.",
        {"directions": lambda logits: -F.logsigmoid((2 * torch.eye(len(logits)) - 1) * logits).sum(dim=1).mean()},
    ),
]
