"""Exercise patchify.embedding: a patch embedding that drops nothing."""

import math

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.patchify.embedding_sizes import built, first_output, other_sizes
from vit_course.checks.patchify.order import pixels_of_patches
from vit_course.checks.report import Wrong
from vit_course.checks.tools.flat import Flat
from vit_course.checks.tools.modules import alone, count, feed, trained_by
from vit_course.checks.tools.table import values
from vit_course.checks.tools.tensors import agree, equal, tensor


@exercise(
    "1.4",
    "A patch embedding that drops nothing",
    section="A convolution accepts almost anything",
    difficulty=3,
    minutes=15,
)
def embedding(answer, draw):
    """`answer(patch_size, in_channels, hidden_dim)` -> a module (B, C, H, W) -> (B, N, D), an error for a bad size."""
    for _ in range(2):
        channels, rows, columns, side = draw.sizes(4, 2, 5)
        # None of them a number of tokens, a multiple of P, or such that a second layer looks like a larger window.
        batch, hidden = draw.choose([9, 13]), draw.choose([7, 11])
        module = built(answer, side, channels, hidden)
        images = draw.normal(batch, channels, rows * side, columns * side)
        out = first_output(answer, module, images, side, hidden)
        _shape(out, module, images, side, hidden)
        _parameters(module, images, side, hidden)
        if not out.requires_grad:
            raise Wrong("gradient-cut", "No gradient reaches the parameters, so they could not be trained.")
        _known_parameters(module, draw, channels * side * side)
        _linear(module, images)
        _takes_part(module, images, draw)
        pixels_of_patches(module, images, side)
        other_sizes(module, images, side, hidden)


def _shape(out, module, images, side, hidden) -> None:
    batch, channels, height, width = images.shape
    rows, columns = height // side, width // side
    shape = (batch, rows * columns, hidden)
    known = values(__name__, "shapes", locals())
    known[batch, rows * columns * hidden] = ("tokens-joined", "The tokens of an image lie on one axis, joined.")
    for step in range(2, side):
        known[batch, ((height - side) // step + 1) * ((width - side) // step + 1), hidden] = (
            "windows-overlap",
            "There are more tokens than patches, as where a window moves by less than P and overlaps with itself.",
        )
    for border in range(1, side):
        windows = ((height + 2 * border - side) // side + 1) * ((width + 2 * border - side) // side + 1)
        sentence = "There are more tokens than patches, as with a border of zeros around the image."
        known.setdefault((batch, windows, hidden), ("border-added", sentence))
    found = tuple(out.shape) if isinstance(out, torch.Tensor) else None
    if found and len(found) == 3 and found[::2] == (batch, hidden):
        more, fewer = "There are more tokens than patches fit into the image.", "Some patches never become a token."
        count_of = ("tokens-too-many", more) if found[1] > rows * columns else ("patches-missing", fewer)
        known.setdefault(found, count_of)
    if found != shape and found in known:
        raise Wrong(*known[found], [f"Expected: {shape} (B, N, D)", f"Received: {found}"])
    if found is not None and found != shape:
        _parameters(module, images, side, hidden)  # may know why
    tensor(out, shape, "(B, N, D)", "the output")


def _parameters(module, images, side, hidden) -> None:
    channels, found = images.shape[1], count(module)
    patch = side * side * channels
    matrix, tokens = patch * hidden, images[0].numel() // patch
    if found - matrix in (0, hidden):
        return
    details = [
        f"Expected: {matrix} numbers, and {hidden} more with a bias, at P = {side}, C = {channels}, D = {hidden}",
        f"Received: {found}",
    ]
    known = values(__name__, "parameters", locals())
    for bias in (0, hidden):
        known[side * side * hidden + bias] = (
            "one-channel",
            "There are weights for one channel only: colours are averaged, dropped or treated alike.",
        )
        known[side * channels * hidden + bias] = ("side-not-squared", "There are weights for one row of a patch only.")
        for norms in (2 * patch, 2 * hidden, 2 * (patch + hidden)):
            known[matrix + bias + norms] = (
                "norms-added",
                "The module learns more than a matrix and a bias: as much more as LayerNorms would.",
            )
        known[tokens * matrix + tokens * bias] = known[tokens * matrix + bias] = (
            "weights-not-shared",
            "Each place in the image has a matrix of its own.",
        )
        known[tokens * tokens * matrix + tokens * bias] = (
            "one-matrix-for-the-image",
            "One matrix acts on the whole image, so every token sees every pixel.",
        )
        window = math.isqrt(max(found - bias, 0) // (channels * hidden))
        if window > side and window * window * channels * hidden + bias == found:
            known[found] = (
                "window-not-patch",
                f"A window of {window} x {window} pixels is used where a patch has {side} x {side}.",
            )
    slug, sentence = known.get(found, ("wrong-parameters", "The number of parameters is not that of a matrix E."))
    raise Wrong(slug, sentence, details)


def _known_parameters(module, draw, inputs) -> None:
    # Whatever they started as, zeros included; none of them near 0, so that no pixel's part in a token vanishes.
    with torch.no_grad():
        for parameter in module.parameters():
            size = (0.5 + draw.uniform(*parameter.shape)) * inputs**-0.5
            parameter.copy_(torch.where(draw.normal(*parameter.shape) < 0, -size, size))


def _takes_part(module, images, draw) -> None:
    trained_by(module, images, draw)
    out = feed(module, images)
    flat = Flat(list(module.parameters()))
    if (flat.slopes((out * draw.normal(*out.shape)).sum()) == 0).any():
        raise Wrong("unused-parameters", "Some of the parameters have no part in the output.")


def _linear(module, images) -> None:
    out = feed(module, images).detach()
    if not agree(feed(module, images), out):
        raise Wrong("random-result", "Called twice with the same images, your module gives two results.")
    alone(module, images, axes="(B, N, D)")
    bias = feed(module, torch.zeros_like(images)).detach()
    scaled = feed(module, -2 * images).detach()
    if min(out.min(), scaled.min(), bias.min()) >= 0:
        raise Wrong("relu-added", "No token ever holds a negative number, as if a ReLU had acted on the tokens.")
    equal(
        scaled,
        bias - 2 * (out - bias),
        "not-linear",
        "The tokens do not grow in proportion with the pixels: something acts on them besides a matrix and a bias.",
        axes="(B, N, D)",
        context=["Input:    images times -2, beside what follows from the tokens of the images"],
    )
