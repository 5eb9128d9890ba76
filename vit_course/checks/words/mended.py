"""Exercise words.mended: the loss of CLIP, to be debugged."""

import torch
import torch.nn.functional as F

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Known, Slip, named_by_details, wrong_functions


def mended(answer, draw):
    """`answer(images, texts, log_scale)`: (B, E), (B, E), () -> ()."""
    draws = [_drawn(draw, 5, 7), _drawn(draw, 8, 3), _drawn(draw, 4, 6)]
    known = Known(r"Received: \(5,\)$", "loss-for-each-pair", "There is a loss for each pair, not one for the batch.")
    with named_by_details(known):
        same_function(answer, _loss, draws, wrong_functions(MISTAKES, _loss, pairs=4))


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


MISTAKES = {
    "result": [
        Slip(
            "faulty",
            "All three bugs are still there.",
            lambda images, texts, log_scale: _own(log_scale * _unit(images, 0) @ _unit(texts, 0).T),
        ),
        Slip(
            "images-not-normalised",
            "Only the texts are normalised.",
            lambda images, texts, log_scale: _loss(images, _unit(texts), log_scale, normalise=lambda x: x),
        ),
        Slip(
            "texts-not-normalised",
            "Only the images are normalised.",
            lambda images, texts, log_scale: _loss(_unit(images), texts, log_scale, normalise=lambda x: x),
        ),
    ],
    "normalise": [
        Slip(
            "normalised-over-the-batch",
            "Each of the E numbers is normalised over the batch, not each vector over its numbers.",
            lambda x: _unit(x, 0),
        ),
        Slip("not-normalised", "The vectors keep their lengths, so these are no cosines.", lambda x: x),
        Slip(
            "softmax-for-length",
            "The vectors go through a softmax and do not get length 1.",
            lambda x: x.softmax(dim=1),
        ),
        Slip(
            "sum-for-length",
            "The vectors are divided by a sum of their numbers, not by their length.",
            lambda x: x / x.sum(dim=1, keepdim=True),
            lambda x: F.normalize(x, p=1.0, dim=1),
        ),
    ],
    "scale": [
        Slip(
            "scale-not-exponentiated",
            "The cosines are multiplied by the logarithm of the scale.",
            lambda log_scale: log_scale,
        ),
        Slip("divided-by-scale", "The cosines are divided by the scale.", lambda log_scale: (-log_scale).exp()),
        Slip(
            "divided-by-logarithm",
            "The cosines are divided by the logarithm of the scale.",
            lambda log_scale: 1 / log_scale,
        ),
        Slip("no-scale", "The cosines are not scaled.", lambda log_scale: log_scale * 0 + 1),
        Slip("scale-squared", "The scale is applied twice.", lambda log_scale: (2 * log_scale).exp()),
        Slip(
            "base-ten",
            "The scale is a power of another base than e.",
            lambda log_scale: 10**log_scale,
            lambda log_scale: 2**log_scale,
        ),
    ],
    "directions": [
        Slip("images-alone", "Only the images choose among the texts.", _own),
        Slip("texts-alone", "Only the texts choose among the images.", lambda logits: _own(logits.T)),
        Slip(
            "directions-added",
            "The losses of the two directions are added, not averaged.",
            lambda logits: _own(logits) + _own(logits.T),
        ),
        Slip(
            "pairs-summed",
            "The losses of the pairs are added, so the loss grows with the batch.",
            lambda logits: (_own(logits, reduction="sum") + _own(logits.T, reduction="sum")) / 2,
            lambda logits: _own(logits, reduction="sum"),
        ),
        Slip(
            "own-pairs-alone",
            "Only the pairs that belong together count: nothing pushes the others apart.",
            lambda logits: -logits.diagonal().mean(),
        ),
        Slip(
            "softmax-twice",
            "A softmax is taken before the cross-entropy, which takes one itself.",
            lambda logits: (_own(logits.softmax(dim=1)) + _own(logits.T.softmax(dim=1))) / 2,
            lambda logits: (_own(logits.softmax(dim=1)) + _own(logits.softmax(dim=1).T)) / 2,
        ),
        Slip(
            "sigmoid-for-softmax",
            "Each pair is judged by a sigmoid; the exercise asks for the loss of CLIP.",
            lambda logits: -F.logsigmoid((2 * torch.eye(len(logits)) - 1) * logits).sum(dim=1).mean(),
        ),
        Slip(
            "probability-for-loss",
            "This is the mean probability of the own text, without a logarithm.",
            lambda logits: logits.softmax(dim=1).diagonal().mean(),
        ),
    ],
}
