"""Exercise without_labels.hidden_loss: the loss of a masked autoencoder, to be debugged."""

import torch

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, table
from vit_course.patches import patchify, unpatchify


def hidden_loss(answer, draw):
    """`answer(predicted, images, hidden, patch_size)`: (B, N, P*P*C), (B, C, H, W), bool (B, N), P -> ()."""
    draws = [_drawn(draw, 2, 3), _drawn(draw, 3, 2), _drawn(draw, 2, 4)]
    predicted = draws[0][0]
    with named_by_details(*known(__name__, "errors", locals())):
        same_function(answer, loss, draws, table(__name__, "mistakes", loss))


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
