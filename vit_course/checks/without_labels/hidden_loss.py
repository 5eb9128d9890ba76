"""Exercise without_labels.hidden_loss: the loss of a masked autoencoder, to be debugged."""

import torch
import torch.nn.functional as F

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Known, Slip, named_by_details, wrong_functions
from vit_course.patches import patchify, unpatchify


def hidden_loss(answer, draw):
    """`answer(predicted, images, hidden, patch_size)`: (B, N, P*P*C), (B, C, H, W), bool (B, N), P -> ()."""
    draws = [_drawn(draw, 2, 3), _drawn(draw, 3, 2), _drawn(draw, 2, 4)]
    with named_by_details(*_errors(*draws[0][0].shape[:2])):
        same_function(answer, loss, draws, wrong_functions(MISTAKES, loss, pairs=6))


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


def _each(patches, channels, dim=2, correction=1, epsilon=1e-6):
    variance, mean = torch.var_mean(patches, dim=dim, correction=correction, keepdim=True)
    return (patches - mean) / (variance + epsilon).sqrt()


def _mean(counted, divisor):
    # (B, N) -> (B, N): the weight of each error where every image counts equally.
    return counted / divisor.sum(dim=1, keepdim=True) / len(counted)


def loss(
    predicted,
    images,
    hidden,
    patch_size,
    normalise=_each,
    weigh=lambda hidden: _mean(hidden, hidden),
    differ=lambda guess, target: (guess - target).square().mean(dim=2),
    cut=patchify,
):
    """The right answer, and with one of its steps replaced a wrong one. No gradient has to reach the images."""
    target = normalise(cut(images.detach(), patch_size), images.shape[1])  # (B, N, P*P*C)
    return (differ(predicted, target) * weigh(hidden)).sum()


def _errors(batch: int, patches: int) -> list[Known]:
    return [
        Known(
            rf"Received: \({batch},\)$",
            "loss-for-each-image",
            "There is a loss for each image; the exercise asks for one number.",
        ),
        Known(
            rf"Received: \({batch}, {patches}\)$",
            "loss-for-each-patch",
            "There is a loss for each patch; the exercise asks for one number.",
        ),
    ]


MISTAKES = {
    "result": [
        Slip(
            "faulty",
            "All three bugs are still there.",
            lambda p, x, h, s: loss(p, x, h, s, lambda y, c: _each(y, c, dim=(1, 2)), lambda h: ~h / h.numel()),
        ),
        Slip(
            "root-of-the-loss",
            "This is the square root of the loss.",
            lambda p, x, h, s: loss(p, x, h, s).sqrt(),
        ),
        Slip(
            "root-of-the-loss",
            "The loss of an image is the square root of the mean error of its hidden patches.",
            lambda p, x, h, s: torch.stack(
                [loss(*one, s).sqrt() for one in zip(p.split(1), x.split(1), h.split(1), strict=True)]
            ).mean(),
        ),
    ],
    "normalise": [
        Slip(
            "by-the-image",
            "The patches are normalised by the mean and the variance of their image, not each by its own.",
            lambda y, c: _each(y, c, dim=(1, 2)),
        ),
        Slip(
            "by-the-batch",
            "The patches are normalised by the mean and the variance of the batch, not each by its own.",
            lambda y, c: _each(y, c, dim=(0, 1, 2)),
            lambda y, c: _each(y, c, dim=(0, 2)),
        ),
        Slip(
            "across-patches",
            "Each of the numbers of a patch is normalised across patches or images, not within the patch.",
            lambda y, c: _each(y, c, dim=1),
            lambda y, c: _each(y, c, dim=(0, 1)),
            lambda y, c: _each(y, c, dim=0),
        ),
        Slip("not-normalised", "The targets are the pixels themselves, not normalised.", lambda y, c: y),
        Slip(
            "variance-by-n", "The variance is a sum divided by n, not by n - 1.", lambda y, c: _each(y, c, correction=0)
        ),
        Slip(
            "each-channel",
            "Each channel is normalised by itself.",
            lambda y, c: _each(y.unflatten(2, (-1, c)), c).flatten(2),
            lambda y, c: _each(y.unflatten(2, (-1, c)), c, dim=(1, 2)).flatten(2),
        ),
        Slip(
            "not-divided",
            "The mean of the patch is subtracted, but nothing is divided by its deviation.",
            lambda y, c: y - y.mean(2, keepdim=True),
        ),
        Slip(
            "mean-not-subtracted",
            "The patch is divided by its deviation, but its mean is still there.",
            lambda y, c: y / (y.var(2, keepdim=True) + 1e-6).sqrt(),
        ),
        Slip(
            "divided-by-variance",
            "The patch is divided by its variance, not by the square root of it.",
            lambda y, c: (y - y.mean(2, keepdim=True)) / (y.var(2, keepdim=True) + 1e-6),
        ),
        Slip(
            "no-epsilon",
            "Nothing is added to the variance, so a patch of a single colour gives NaN.",
            lambda y, c: _each(y, c, epsilon=0),
            lambda y, c: _each(y, c, correction=0, epsilon=0),
        ),
        Slip(
            "epsilon-on-the-deviation",
            "The epsilon is added to the deviation, not to the variance.",
            lambda y, c: (y - y.mean(2, keepdim=True)) / (y.std(2, keepdim=True) + 1e-6),
        ),
        Slip(
            "another-epsilon",
            "The epsilon that is added to the variance is not 1e-6.",
            lambda y, c: _each(y, c, epsilon=1e-3),
            lambda y, c: _each(y, c, epsilon=1e-5),
            lambda y, c: _each(y, c, epsilon=1e-8),
            lambda y, c: _each(y, c, epsilon=1e-12),
        ),
        Slip(
            "defaults-of-layer-norm",
            "The patches are normalised as by a LayerNorm: the variance by n, and another epsilon.",
            lambda y, c: _each(y, c, correction=0, epsilon=1e-5),
        ),
    ],
    "weigh": [
        Slip(
            "visible-for-hidden",
            "The errors of the visible patches count, not those of the hidden ones.",
            lambda h: _mean(~h, h),
        ),
        Slip(
            "visible-for-hidden",
            "The loss is the mean error of the visible patches, not of the hidden ones.",
            lambda h: _mean(~h, ~h),
        ),
        Slip(
            "divided-by-all-patches",
            "The errors of the hidden patches are divided by the number of all patches.",
            lambda h: h / h.numel(),
        ),
        Slip(
            "hidden-patches-pooled",
            (
                "The mean runs over the hidden patches of the whole batch, so an image that hides more of them "
                "counts more."
            ),
            lambda h: h / h.sum(),
        ),
        Slip(
            "all-patches",
            "The loss is the mean error of all patches, hidden and visible.",
            lambda h: torch.ones_like(h) / h.numel(),
        ),
        Slip(
            "visible-over-all",
            "The errors of the visible patches are added up and divided by the number of all patches.",
            lambda h: ~h / h.numel(),
        ),
        Slip(
            "visible-for-hidden",
            "The mean runs over the visible patches of the whole batch.",
            lambda h: ~h / (~h).sum(),
            lambda h: ~h / h.sum(),
        ),
        Slip(
            "all-patches-over-hidden",
            "The errors of all patches are added up and divided by the number of hidden patches.",
            lambda h: _mean(torch.ones_like(h), h),
            lambda h: torch.ones_like(h) / h.sum(),
        ),
        Slip(
            "divided-by-visible",
            "The errors of the hidden patches are divided by the number of visible patches.",
            lambda h: _mean(h, ~h),
            lambda h: h / (~h).sum(),
        ),
        Slip(
            "errors-summed",
            "The errors of the hidden patches are added up and not divided by their number.",
            lambda h: h / len(h),
            lambda h: h.float(),
        ),
        Slip(
            "images-summed",
            "The losses of the images are added up, so the loss grows with the batch.",
            lambda h: len(h) * _mean(h, h),
        ),
        Slip(
            "image-and-batch-mixed",
            (
                "A sum over one image is divided by a count over the batch, or a sum over the batch by the count "
                "of one image."
            ),
            lambda h: h / h.sum() / len(h),
            lambda h: h * (1 / h.sum(dim=1)).mean(),
        ),
        Slip(
            "divided-twice",
            "The errors are divided by the number of all patches and by the number of hidden patches.",
            lambda h: _mean(h, h) / h.shape[1],
        ),
        Slip(
            "first-count-for-all",
            "All images are divided by the number of hidden patches of the first one.",
            lambda h: h / h[0].sum() / len(h),
        ),
    ],
    "differ": [
        Slip(
            "absolute-differences",
            "The error is the mean absolute difference, not the mean of the squares.",
            lambda guess, target: (guess - target).abs().mean(2),
        ),
        Slip(
            "squares-summed",
            "The squared differences of a patch are added up, not averaged.",
            lambda guess, target: (guess - target).square().sum(2),
        ),
        Slip(
            "predictions-normalised",
            "The predictions are normalised too.",
            lambda guess, target: (_each(guess, 1) - target).square().mean(2),
        ),
        Slip(
            "root-of-the-error",
            "The error of a patch is the square root of the mean of the squares.",
            lambda guess, target: (guess - target).square().mean(2).sqrt(),
        ),
    ],
    "cut": [
        Slip(
            "channels-first",
            "The numbers of a patch run by channel first; those of `patchify` run by row, column, channel.",
            lambda x, s: F.unfold(x, s, stride=s).mT,
        ),
    ],
}
