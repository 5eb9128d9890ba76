"""Exercise without_labels.hidden_loss: the loss of a masked autoencoder, to be debugged."""

import torch
import torch.nn.functional as F

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Known, Mistake, bugs_left, bugs_repaired, named_by_details
from vit_course.patches import patchify, unpatchify


def hidden_loss(answer, draw):
    """`answer(predicted, images, hidden, patch_size)`: (B, N, P*P*C), (B, C, H, W), bool (B, N), P -> ()."""
    draws = [_drawn(draw, 2, 3), _drawn(draw, 3, 2), _drawn(draw, 2, 4)]
    with named_by_details(*SHAPES):
        same_function(answer, loss, draws, MISTAKES)


def _drawn(draw, patch: int, channels: int) -> tuple:
    batch, (rows, columns) = draw.choose((3, 4)), draw.choose(((2, 5), (5, 2)))
    shape = (batch, rows * columns, patch * patch * channels)
    # Patches of another brightness and contrast each, also from image to image, and some that are hidden everywhere:
    # a flat one, and one so faint that the epsilon counts.
    contrast, brightness = 0.2 + draw.uniform(batch, shape[1], 1), draw.normal(batch, shape[1], 1)
    patches = contrast * draw.normal(*shape) + brightness + draw.normal(batch, 1, 1)
    patches[:, 0], patches[:, 1] = 0.5, 1e-3 * draw.normal(batch, shape[2])
    images = unpatchify(patches, patch, (rows * patch, columns * patch))
    counts = torch.tensor(draw.sizes(batch, 3, shape[1] - 1))  # another one in each image
    noise = draw.uniform(batch, shape[1])
    noise[:, :2] -= 1
    hidden = noise.argsort(dim=1).argsort(dim=1) < counts[:, None]
    return draw.normal(*shape), images, hidden, patch


def _normalised(patches, dim=2, correction=1, epsilon=1e-6):
    variance, mean = torch.var_mean(patches, dim=dim, correction=correction, keepdim=True)
    return (patches - mean) / (variance + epsilon).sqrt()


def _by_the_image(patches):
    return _normalised(patches, dim=(1, 2))


def _divided(patches, divisor):
    return (patches - patches.mean(2, keepdim=True)) / divisor


def _each_channel(patches, channels):
    return _normalised(patches.unflatten(2, (-1, channels))).flatten(2)


def loss(
    predicted,
    images,
    hidden,
    patch_size,
    cut=patchify,
    normalise=_normalised,
    differ=lambda guess, target: (guess - target).square().mean(dim=2),
    count=lambda hidden: hidden,
    average=lambda errors, hidden: (errors.sum(dim=1) / hidden.sum(dim=1)).mean(),
):
    """The right answer, and with one of its steps replaced a wrong one. No gradient has to reach the images."""
    target = normalise(cut(images.detach(), patch_size))  # (B, N, P*P*C)
    return average(differ(predicted, target) * count(hidden), hidden)


SHAPES = [
    Known(
        r"Received: \(\d+,\)$",
        "loss-for-each-image",
        "There is a loss for each image; the exercise asks for one number.",
    ),
    Known(
        r"Received: \(\d+, \d+\)$",
        "loss-for-each-patch",
        "There is a loss for each patch; the exercise asks for one number.",
    ),
]

BUGS = [
    Mistake(
        "by-the-image",
        "The patches are normalised by the mean and the variance of their image, not each by its own.",
        {"normalise": _by_the_image},
    ),
    Mistake(
        "visible-for-hidden",
        "The errors of the visible patches count, not those of the hidden ones.",
        {"count": lambda hidden: ~hidden},
    ),
    Mistake(
        "divided-by-all-patches",
        "The errors of the hidden patches are divided by the number of all patches.",
        {"average": lambda errors, hidden: errors.mean()},
    ),
]

MISTAKES = [
    *bugs_left(*BUGS),
    Mistake(  # a mean at last, but of the visible patches
        "bugs-left",
        bugs_repaired(1, 3),
        lambda p, x, h, s: loss(p, x, ~h, s, normalise=_by_the_image),
    ),
    Mistake(
        "root-of-the-loss",
        "This is the square root of the loss.",
        lambda p, x, h, s: loss(p, x, h, s).sqrt(),
    ),
    Mistake(
        "by-the-batch",
        "The patches are normalised by the mean and the variance of the batch, not each by its own.",
        {"normalise": lambda patches: _normalised(patches, dim=(0, 1, 2))},
        {"normalise": lambda patches: _normalised(patches, dim=(0, 2))},
    ),
    Mistake(
        "across-patches",
        "Each of the numbers of a patch is normalised across patches or images, not within the patch.",
        {"normalise": lambda patches: _normalised(patches, dim=1)},
        {"normalise": lambda patches: _normalised(patches, dim=(0, 1))},
        {"normalise": lambda patches: _normalised(patches, dim=0)},
    ),
    Mistake(
        "not-normalised",
        "The targets are the pixels themselves, not normalised.",
        {"normalise": lambda patches: patches},
    ),
    Mistake(
        "variance-by-n",
        "The variance is a sum divided by n, not by n - 1.",
        {"normalise": lambda patches: _normalised(patches, correction=0)},
    ),
    Mistake(
        "each-channel",
        "Each channel is normalised by itself.",
        lambda p, x, h, s: loss(p, x, h, s, normalise=lambda patches: _each_channel(patches, x.shape[1])),
    ),
    Mistake(
        "not-divided",
        "The mean of the patch is subtracted, but nothing is divided by its deviation.",
        {"normalise": lambda patches: patches - patches.mean(2, keepdim=True)},
    ),
    Mistake(
        "mean-not-subtracted",
        "The patch is divided by its deviation, but its mean is still there.",
        {"normalise": lambda patches: patches / (patches.var(2, keepdim=True) + 1e-6).sqrt()},
    ),
    Mistake(
        "divided-by-variance",
        "The patch is divided by its variance, not by the square root of it.",
        {"normalise": lambda patches: _divided(patches, patches.var(2, keepdim=True) + 1e-6)},
    ),
    Mistake(
        "no-epsilon",
        "Nothing is added to the variance, so a patch of a single colour gives NaN.",
        {"normalise": lambda patches: _normalised(patches, epsilon=0)},
    ),
    Mistake(
        "epsilon-on-the-deviation",
        "The epsilon is added to the deviation, not to the variance.",
        {"normalise": lambda patches: _divided(patches, patches.std(2, keepdim=True) + 1e-6)},
    ),
    Mistake(
        "visible-for-hidden",
        "The loss is the mean error of the visible patches, not of the hidden ones.",
        lambda p, x, h, s: loss(p, x, ~h, s),
    ),
    Mistake(
        "visible-for-hidden",
        "The mean runs over the visible patches of the whole batch.",
        {"count": lambda hidden: ~hidden, "average": lambda errors, hidden: errors.sum() / (~hidden).sum()},
    ),
    Mistake(
        "hidden-patches-pooled",
        "The mean runs over the hidden patches of the whole batch, so an image that hides more of them counts more.",
        {"average": lambda errors, hidden: errors.sum() / hidden.sum()},
    ),
    Mistake(
        "all-patches",
        "The loss is the mean error of all patches, hidden and visible.",
        {"count": torch.ones_like, "average": lambda errors, hidden: errors.mean()},
    ),
    Mistake(
        "errors-summed",
        "The errors of the hidden patches are added up and not divided by their number.",
        {"average": lambda errors, hidden: errors.sum(dim=1).mean()},
        {"average": lambda errors, hidden: errors.sum()},
    ),
    Mistake(
        "images-summed",
        "The losses of the images are added up, so the loss grows with the batch.",
        {"average": lambda errors, hidden: (errors.sum(dim=1) / hidden.sum(dim=1)).sum()},
    ),
    Mistake(
        "first-count-for-all",
        "All images are divided by the number of hidden patches of the first one.",
        {"average": lambda errors, hidden: (errors.sum(dim=1) / hidden[0].sum()).mean()},
    ),
    Mistake(
        "absolute-differences",
        "The error is the mean absolute difference, not the mean of the squares.",
        {"differ": lambda guess, target: (guess - target).abs().mean(dim=2)},
    ),
    Mistake(
        "squares-summed",
        "The squared differences of a patch are added up, not averaged.",
        {"differ": lambda guess, target: (guess - target).square().sum(dim=2)},
    ),
    Mistake(
        "predictions-normalised",
        "The predictions are normalised too.",
        lambda p, x, h, s: loss(_normalised(p), x, h, s),
    ),
    Mistake(
        "root-of-the-error",
        "The error of a patch is the square root of the mean of the squares.",
        {"differ": lambda guess, target: (guess - target).square().mean(dim=2).sqrt()},
    ),
    Mistake(
        "channels-first",
        "The numbers of a patch run by channel first; those of `patchify` run by row, column, channel.",
        {"cut": lambda images, size: F.unfold(images, size, stride=size).mT},
    ),
]
