"""Exercise patchify.embedding: a patch embedding that drops nothing."""

import re

import torch
import torch.nn.functional as F
from einops import rearrange

from vit_course.checks.report import Wrong
from vit_course.checks.tools.mistakes import Mistake, by_value
from vit_course.checks.tools.modules import alone, build, feed, passes, trained_by, uses_all
from vit_course.checks.tools.parameter_counts import check_count
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
        _shape(out, images, side, hidden)
        _parameters(module, channels, side, hidden)
        if not out.requires_grad:
            raise Wrong("gradient-cut", "No gradient reaches the parameters, so they could not be trained.")
        _known_parameters(module, draw, channels * side * side)
        _linear(module, images)
        trained_by(module, images, draw)
        uses_all(module, images, draw)
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
    channels, height, width = images.shape[1:]
    try:
        return feed(module, images)
    except Wrong as wrong:
        if wrong.mistake != "raised-error":
            raise
        if passes(feed, module, torch.ones(1, channels, height, height)):
            sentence = "Square images are accepted, but others are not."
            raise Wrong("square-images-only", sentence, wrong.details) from None
        if passes(lambda: feed(build(answer, side, 3, hidden), torch.ones(1, 3, height, width))):
            sentence = "Images with three channels are accepted, but others are not."
            raise Wrong("three-channels-only", sentence, wrong.details) from None
        if any(_REFUSAL.search(line) for line in wrong.details):
            sentence = "An image is refused although P divides its height and its width."
            raise Wrong("good-size-refused", sentence, wrong.details) from None
        raise


def _shape(out, images, side, hidden) -> None:
    batch, _, height, width = images.shape
    right = (batch, height // side * (width // side), hidden)
    mistakes = by_value(_wrong_shapes(batch, height, width, side, hidden))
    if isinstance(out, torch.Tensor) and tuple(out.shape) in mistakes:
        details = [f"Expected: {right} (B, N, D)", f"Received: {tuple(out.shape)}"]
        raise Wrong(*mistakes[tuple(out.shape)], details)
    tensor(out, right, "(B, N, D)", "the output")


def _wrong_shapes(batch, height, width, side, hidden) -> list[Mistake]:
    rows, columns = height // side, width // side
    steps = [((height - side) // step + 1) * ((width - side) // step + 1) for step in range(1, side)]
    borders = [(height + 2 * b) // side * ((width + 2 * b) // side) for b in range(1, side)]
    return [
        Mistake(
            "grid-kept",
            "The tokens are still on a grid, not in one sequence.",
            (batch, rows, columns, hidden),
            (batch, hidden, rows, columns),
        ),
        Mistake("tokens-last", "The tokens are on the last axis, where D should be.", (batch, hidden, rows * columns)),
        Mistake("batch-joined", "The tokens of all images are on one axis.", (batch * rows * columns, hidden)),
        Mistake(
            "class-token-added",
            "There is one token more than there are patches.",
            (batch, rows * columns + 1, hidden),
        ),
        Mistake(
            "stride-missing",
            "The window stops at every pixel, so there are far more tokens than patches.",
            (batch, steps[0], hidden),
        ),
        Mistake(
            "windows-overlap",
            "There are more tokens than patches, as if the window moved by less than P and overlapped with itself.",
            *((batch, tokens, hidden) for tokens in steps[1:] if tokens > rows * columns),
        ),
        Mistake(
            "border-added",
            "There are more tokens than patches, as with a border of zeros around the image.",
            *((batch, tokens, hidden) for tokens in borders if tokens > rows * columns),
        ),
    ]


def _parameters(module, channels, side, hidden) -> None:
    patch = side * side * channels
    matrix = patch * hidden
    right = {number: _wrong_counts(number, matrix, channels, patch, hidden) for number in (matrix + hidden, matrix)}
    check_count(module, right, f"P = {side}, C = {channels}, D = {hidden}")


def _wrong_counts(right, matrix, channels, patch, hidden) -> list[Mistake]:
    # By how much there are more than in a matrix, or in a matrix and a bias.
    return [
        Mistake(
            "no-parameters",
            "Nothing is learned: what the module multiplies by is not among its parameters.",
            -right,
        ),
        Mistake(
            "no-matrix",
            "Only one vector is learned: the matrix is not among the parameters.",
            hidden - right,
        ),
        Mistake(
            "one-channel",
            "There are weights for only one channel: colours are averaged, dropped or treated alike.",
            matrix // channels - matrix,
        ),
        Mistake(
            "vector-added",
            "The module learns one vector of D numbers too many, such as a class token or a second bias.",
            hidden,
        ),
        Mistake(
            "norms-added",
            "The module learns extra numbers, as many as LayerNorms would.",
            2 * patch,
            2 * hidden,
            2 * (patch + hidden),
        ),
    ]


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


def _pixels_of_patches(module, images, side) -> None:
    # One image for each number of an image: which tokens does it reach? Its own patch's alone, and all patches alike.
    channels, height, width = images.shape[1:]
    numbers = channels * height * width
    dark = feed(module, torch.zeros(1, channels, height, width)).detach()
    single = torch.eye(numbers).reshape(numbers, channels, height, width)
    response = feed(module, single).detach() - dark  # (C*H*W, N, D)
    _own_patch_alone(response, images, side)
    matrix = response.sum(dim=1).T.reshape(-1, channels, height, width)  # (D, C, H, W)
    for tokens in (patchify(matrix, side), dark):  # (D, N, P*P*C), (1, N, D)
        if not agree(tokens, tokens[:, :1].expand_as(tokens)):
            sentence = "The same pixels give different tokens at different places in the image."
            raise Wrong("patches-not-alike", sentence)
    one = matrix[..., :side, :side]  # (D, C, P, P)
    for axes in ((2, 3), (1,)):
        if agree(one, one.mean(axes, keepdim=True).expand_as(one)):
            sentence = "All pixels of a patch or all channels count equally: E has a row for each number of a patch."
            raise Wrong("numbers-alike", sentence)


def _own_patch_alone(response, images, side) -> None:
    # response: (C*H*W, N, D), the change of each token by each number of an image
    reached, expected = _reached(response), _owners(patchify, images, side)
    if torch.equal(reached, expected):
        return
    for mistake in CUTS:
        if any(torch.equal(reached, _owners(cut, images, side)) for cut in mistake.forms):
            raise Wrong(mistake.slug, mistake.sentence)
    straight = response.reshape(len(response), response.shape[2], -1).mT
    if torch.equal(_reached(straight), expected):
        sentence = "A reshape turns (B, D, H/P, W/P) into (B, N, D), so a token holds pieces of several tokens."
        raise Wrong("bare-reshape", sentence)
    height, width = images.shape[2:]
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


CUTS = [
    Mistake(
        "bare-reshape",
        "A reshape turns (B, P*P*C, N) into (B, N, P*P*C), so a token holds pieces of several patches.",
        lambda x, side: F.unfold(x.float(), side, stride=side).reshape(1, -1, side * side * x.shape[1]),
    ),
    Mistake(
        "windows-overlap",
        "The window moves by less than P and overlaps with itself.",
        lambda x, side: F.unfold(x.float(), side, stride=side - 1).mT,
    ),
    Mistake(
        "columns-first",
        "The tokens run down the image, column by column.",
        lambda x, side: rearrange(x, "b k (r i) (c j) -> b (c r) (i j k)", i=side, j=side),
    ),
    Mistake(
        "patches-by-reshape",
        "The patches come from one reshape, so they are not squares.",
        lambda x, side: x.reshape(1, -1, side * side * x.shape[1]),
    ),
]


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
    passed = []
    for high, wide in sizes:
        unfit = (torch.arange(channels * high * wide) % 7.0).reshape(1, channels, high, wide)
        try:
            passed.append((unfit, feed(module, unfit)))
        except Wrong as wrong:
            if wrong.mistake != "raised-error":
                raise
    if not passed:
        return
    unfit, received = passed[0]
    high, wide = unfit.shape[2:]
    tokens = received.shape[1] if isinstance(received, torch.Tensor) and received.ndim > 1 else None
    details = [f"Input:    {describe(unfit)}, P = {side}", "Expected: an error", f"Received: {describe(received)}"]
    if all(_is_cropped(module, *one, side) for one in passed):
        raise Wrong("pixels-dropped", "An image that P does not divide is silently cropped.", details)
    if tokens == high // side * (wide // side):
        raise Wrong("image-resized", "An image that P does not divide is silently resized.", details)
    if tokens == -(-high // side) * -(-wide // side):
        raise Wrong("image-filled-up", "An image that P does not divide is silently enlarged.", details)
    raise Wrong("wrong-behaviour", "An image that P does not divide raises no error.", details)


def _is_cropped(module, unfit, received, side) -> bool:
    # Whether these are the tokens of a part of the image, with what is left over cut off at either end or at both.
    high, wide = (size // side * side for size in unfit.shape[2:])
    tops, lefts = ({0, size % side // 2, size % side} for size in unfit.shape[2:])
    parts = (unfit[:, :, top : top + high, left : left + wide] for top in tops for left in lefts)
    return any(agree(feed(module, part), received) for part in parts)
