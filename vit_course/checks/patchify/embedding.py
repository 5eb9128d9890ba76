"""Exercise patchify.embedding: a patch embedding that drops nothing."""

import re

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.accountant import counted
from vit_course.checks.tools.flat import Flat
from vit_course.checks.tools.modules import alone, build, feed, passes, trained_by
from vit_course.checks.tools.table import refuse, table
from vit_course.checks.tools.tensors import agree, equal, tensor
from vit_course.checks.tools.words import describe
from vit_course.patches import patchify

_REFUSAL = re.compile(r"`(raise|assert)\b")  # in the learner's line


def embedding(answer, draw):
    """`answer(patch_size, in_channels, hidden_dim)` -> a module (B, C, H, W) -> (B, N, D), an error for a bad size."""
    for _ in range(2):
        channels, rows, columns, side = draw.sizes(4, 2, 5)
        # None of them a number of tokens, a multiple of P, or such that a second layer looks like a larger window.
        batch, hidden = draw.choose([9, 13]), draw.choose([7, 11])
        module = _built(answer, side, channels, hidden)
        images = draw.normal(batch, channels, rows * side, columns * side)
        out = _first_output(answer, module, images, side, hidden)
        _shape(out, module, images, side, hidden)
        _parameters(module, images, side, hidden)
        if not out.requires_grad:
            raise Wrong("gradient-cut", "No gradient reaches the parameters, so they could not be trained.")
        _known_parameters(module, draw, channels * side * side)
        _linear(module, images)
        _takes_part(module, images, draw)
        _pixels_of_patches(module, images, side)
        _larger(module, images, side, hidden)
        _unfit(module, images, side)


def _built(answer, side, channels, hidden):
    try:
        return build(answer, side, channels, hidden)
    except Wrong as wrong:
        if wrong.mistake == "raised-error" and passes(build, answer, side, channels, side * hidden):
            sentence = "The constructor refuses a hidden width that is not a multiple of P; it does not have to be one."
            details = [f"Input:    P = {side}, D = {hidden}", *wrong.details]
            raise Wrong("hidden-width-checked", sentence, details) from None
        raise


def _first_output(answer, module, images, side, hidden):
    try:
        return feed(module, images)
    except Wrong as wrong:
        if wrong.mistake == "raised-error":
            (height, width), details = images.shape[2:], wrong.details
            refuse(__name__, "refused", locals(), details)
        raise


def _shape(out, module, images, side, hidden) -> None:
    batch, channels, height, width = images.shape
    rows, columns = height // side, width // side
    shape = (batch, rows * columns, hidden)
    if isinstance(out, torch.Tensor) and (found := tuple(out.shape)) != shape:
        refuse(__name__, "shapes", locals(), [f"Expected: {shape} (B, N, D)", f"Received: {found}"])
        _parameters(module, images, side, hidden)  # may know why
    tensor(out, shape, "(B, N, D)", "the output")


def _parameters(module, images, side, hidden) -> None:
    channels = images.shape[1]
    patch = side * side * channels
    matrix, tokens = patch * hidden, images[0].numel() // patch
    counted(module, (matrix + hidden, matrix), __name__, locals(), f"P = {side}, C = {channels}, D = {hidden}")


def _known_parameters(module, draw, inputs) -> None:
    # Whatever they started as, zeros included; none of them near 0, so that no pixel's part in a token vanishes.
    with torch.no_grad():
        for parameter in module.parameters():
            size = (0.5 + draw.uniform(*parameter.shape)) * inputs**-0.5
            parameter.copy_(torch.where(draw.normal(*parameter.shape) < 0, -size, size))


def _linear(module, images) -> None:
    out = feed(module, images).detach()
    if not agree(feed(module, images), out):
        raise Wrong("random-result", "Called twice with the same images, your module gives different results.")
    alone(module, images, axes="(B, N, D)")
    bias = feed(module, torch.zeros_like(images)).detach()
    scaled = feed(module, -2 * images).detach()
    if min(out.min(), scaled.min(), bias.min()) >= 0:
        raise Wrong("relu-added", "No token ever holds a negative number, as if a ReLU had acted on the tokens.")
    equal(
        scaled,
        bias - 2 * (out - bias),
        "not-linear",
        "The tokens do not grow in proportion to the pixels: they are not made by a matrix and a bias alone.",
        axes="(B, N, D)",
        context=["Input:    images times -2, compared with what follows from the tokens of the images"],
    )


def _takes_part(module, images, draw) -> None:
    trained_by(module, images, draw)
    out = feed(module, images)
    flat = Flat(list(module.parameters()))
    if (flat.slopes((out * draw.normal(*out.shape)).sum()) == 0).any():
        raise Wrong("unused-parameters", "The output ignores some of the parameters.")


def _pixels_of_patches(module, images, side) -> None:
    # One image for each number of an image: which tokens does it reach? Its own patch's alone, and all patches alike.
    channels, height, width = images.shape[1:]
    numbers = channels * height * width
    dark = feed(module, torch.zeros(1, channels, height, width)).detach()
    single = torch.eye(numbers).reshape(numbers, channels, height, width)
    response = feed(module, single).detach() - dark  # (C*H*W, N, D)
    reached, expected = _reached(response), _owners(patchify, images, side)
    if not torch.equal(reached, expected):
        for order in table(__name__, "orders"):
            if torch.equal(reached, _owners(order.function, images, side)):
                raise Wrong(order.slug, order.sentence)
        straight = response.reshape(numbers, response.shape[2], -1).mT
        if torch.equal(_reached(straight), expected):
            sentence = "A reshape turns (B, D, H/P, W/P) into (B, N, D), so a token holds pieces of several tokens."
            raise Wrong("bare-reshape", sentence)
        place = (reached != expected).any(dim=1).nonzero()[0].item()
        channel, row, column = place // (height * width), place // width % height, place % width
        changed = ", ".join(map(str, reached[place].nonzero().flatten().tolist())) or "none"
        details = [
            f"Input:    channel {channel}, row {row}, column {column} of images of {height} x {width}",
            f"Expected: it changes token {expected[place].nonzero().item()} alone",
            f"Received: it changes {changed}",
        ]
        sentence = "A number of the image reaches tokens other than that of its patch, or none at all."
        raise Wrong("wrong-behaviour", sentence, details)
    matrix = response.sum(dim=1).T.reshape(-1, channels, height, width)  # (D, C, H, W)
    by_patch = patchify(matrix, side)  # (D, N, P*P*C)
    one = matrix[..., :side, :side]  # (D, C, P, P)
    refuse(__name__, "alike", locals())


def _reached(response):
    part = response.abs().amax(dim=2)
    return part > 1e-3 * part.max()


def _owners(cut, images, side):
    # (C*H*W, N): which number of the image is in which patch, by this way of cutting.
    places = torch.arange(images[0].numel()).reshape(1, *images.shape[1:])
    patches = cut(places, side)[0].long()  # (N, P*P*C)
    owner = torch.zeros(places.numel(), len(patches), dtype=torch.bool)
    owner[patches.flatten(), torch.arange(len(patches)).repeat_interleave(patches.shape[1])] = True
    return owner


def _larger(module, images, side, hidden) -> None:
    channels, height, width = images.shape[1:]
    larger = torch.ones(2, channels, height + side, width + 2 * side)
    expected = (2, (height // side + 1) * (width // side + 2), hidden)
    try:
        tensor(feed(module, larger), expected, "(B, N, D)", "the output")
    except Wrong as wrong:
        sentence = "The module works for only one image size; other sizes are equally valid."
        details = [f"Input:    {describe(larger)} after {describe(images)}, P = {side}", *wrong.details]
        raise Wrong("hard-coded-size", sentence, details) from None


def _unfit(module, images, side) -> None:
    channels, height, width = images.shape[1:]
    sizes = [(height + 1, width), (height, width + 1), (height + side - 1, width + side - 1)]
    sizes += [(side * side, width + 1), (height + 1, side * side)]  # with an area of whole patches
    for high, wide in sizes:
        unfit = torch.ones(1, channels, high, wide)
        try:
            received = feed(module, unfit)
        except Wrong as wrong:
            if wrong.mistake != "raised-error":
                raise
            continue
        tokens = received.shape[1] if isinstance(received, torch.Tensor) and received.ndim > 1 else None
        details = [f"Input:    {describe(unfit)}, P = {side}", "Expected: an error", f"Received: {describe(received)}"]
        refuse(__name__, "unfit", locals(), details)
