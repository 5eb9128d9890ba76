"""Exercise patchify.embedding: a patch embedding that drops nothing."""

import re

import torch
import torch.nn.functional as F
from einops import rearrange

from vit_course.checks.report import Wrong
from vit_course.checks.tools.accountant import counted
from vit_course.checks.tools.flat import Flat
from vit_course.checks.tools.mistakes import Slip, refuse, wrong_functions
from vit_course.checks.tools.modules import alone, build, feed, passes, trained_by
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
            seen = dict(answer=answer, module=module, images=images, side=side, hidden=hidden, details=wrong.details)
            refuse(REFUSED, seen, wrong.details)
        raise


def _shape(out, module, images, side, hidden) -> None:
    batch, channels, height, width = images.shape
    rows, columns = height // side, width // side
    shape = (batch, rows * columns, hidden)
    if isinstance(out, torch.Tensor) and (found := tuple(out.shape)) != shape:
        refuse(
            SHAPES,
            dict(
                side=side,
                hidden=hidden,
                shape=shape,
                batch=batch,
                channels=channels,
                height=height,
                width=width,
                rows=rows,
                columns=columns,
                found=found,
            ),
            [f"Expected: {shape} (B, N, D)", f"Received: {found}"],
        )
        _parameters(module, images, side, hidden)  # may know why
    tensor(out, shape, "(B, N, D)", "the output")


def _parameters(module, images, side, hidden) -> None:
    channels = images.shape[1]
    patch = side * side * channels
    matrix, tokens = patch * hidden, images[0].numel() // patch
    counted(
        module,
        (matrix + hidden, matrix),
        PARAMETERS,
        dict(side=side, hidden=hidden, channels=channels, patch=patch, matrix=matrix, tokens=tokens),
        f"P = {side}, C = {channels}, D = {hidden}",
    )


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
        for order in wrong_functions(ORDERS):
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
    refuse(ALIKE, dict(dark=dark, by_patch=by_patch, one=one))


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
    tokens = received.shape[1] if isinstance(received, torch.Tensor) and received.ndim > 1 else None
    details = [f"Input:    {describe(unfit)}, P = {side}", "Expected: an error", f"Received: {describe(received)}"]
    cropped = all(_is_cropped(module, *one, side) for one in passed)
    high, wide = unfit.shape[2:]
    refuse(UNFIT, dict(side=side, high=high, wide=wide, tokens=tokens, cropped=cropped), details)


def _is_cropped(module, unfit, received, side) -> bool:
    # Whether these are the tokens of a part of the image, with what is left over cut off at either end or at both.
    high, wide = (size // side * side for size in unfit.shape[2:])
    tops, lefts = ({0, size % side // 2, size % side} for size in unfit.shape[2:])
    parts = (unfit[:, :, top : top + high, left : left + wide] for top in tops for left in lefts)
    return any(agree(feed(module, part), received) for part in parts)


# Images whose sides P divides do not go through; those that others may have thought of do.
REFUSED = [
    Slip(
        "square-images-only",
        "Square images are accepted, but others are not.",
        lambda module, images: passes(feed, module, torch.ones(1, images.shape[1], images.shape[2], images.shape[2])),
    ),
    Slip(
        "three-channels-only",
        "Images with three channels are accepted, but others are not.",
        lambda answer, side, hidden, images: passes(
            lambda: feed(build(answer, side, 3, hidden), torch.ones(1, 3, *images.shape[2:]))
        ),
    ),
    Slip(
        "good-size-refused",
        "An image is refused although P divides its height and its width.",
        lambda details: any(_REFUSAL.search(line) for line in details),
    ),
]

SHAPES = [
    Slip(
        "grid-kept",
        "The tokens are still on a grid, not in one sequence.",
        lambda found, batch, rows, columns, hidden: found == (batch, rows, columns, hidden),
        lambda found, batch, hidden, rows, columns: found == (batch, hidden, rows, columns),
    ),
    Slip(
        "tokens-last",
        "The tokens are on the last axis, where D should be.",
        lambda found, batch, hidden, rows, columns: found == (batch, hidden, rows * columns),
    ),
    Slip(
        "axes-in-another-order",
        "The axes of the output are in the wrong order.",
        lambda found, shape: sorted(found) == sorted(shape),
    ),
    Slip(
        "batch-joined",
        "The tokens of all images are on one axis.",
        lambda found, batch, rows, columns, hidden: found == (batch * rows * columns, hidden),
    ),
    Slip(
        "class-token-added",
        "There is one token more than there are patches.",
        lambda found, batch, rows, columns, hidden: found == (batch, rows * columns + 1, hidden),
    ),
    Slip(
        "not-projected",
        "These are patches, not yet tokens.",
        lambda found, batch, rows, columns, side, channels: found == (batch, rows * columns, side * side * channels),
    ),
    Slip(
        "stride-missing",
        "The window stops at every pixel, so there are far more tokens than patches.",
        lambda found, batch, height, side, width, hidden: (
            found == (batch, (height - side + 1) * (width - side + 1), hidden)
        ),
    ),
    Slip(
        "windows-overlap",
        "There are more tokens than patches, as if the window moved by less than P and overlapped with itself.",
        lambda found, batch, height, side, width, hidden: (
            found in [(batch, ((height - side) // s + 1) * ((width - side) // s + 1), hidden) for s in range(2, side)]
        ),
    ),
    Slip(
        "border-added",
        "There are more tokens than patches, as with a border of zeros around the image.",
        lambda found, batch, height, side, width, hidden: (
            found in [(batch, (height + 2 * b) // side * ((width + 2 * b) // side), hidden) for b in range(1, side)]
        ),
    ),
    Slip(
        "tokens-too-many",
        "There are more tokens than patches in the image.",
        lambda found, batch, hidden, shape: found[::2] == (batch, hidden) and found[1] > shape[1],
    ),
    Slip(
        "patches-missing",
        "Some patches never become a token.",
        lambda found, batch, hidden: len(found) == 3 and found[::2] == (batch, hidden),
    ),
]

# By how much there are more than in a matrix, or in a matrix and a bias.
PARAMETERS = [
    Slip(
        "no-parameters",
        "Nothing is learned: what the module multiplies by is not among its parameters.",
        lambda right: -right,
    ),
    Slip(
        "no-matrix",
        "Only one vector is learned: the matrix is not among the parameters.",
        lambda hidden, right: hidden - right,
    ),
    Slip(
        "one-channel",
        "There are weights for only one channel: colours are averaged, dropped or treated alike.",
        lambda side, hidden, matrix: side * side * hidden - matrix,
    ),
    Slip(
        "side-not-squared",
        "There are weights for only one row of a patch.",
        lambda side, channels, hidden, matrix: side * channels * hidden - matrix,
    ),
    Slip(
        "vector-added",
        "The module learns one vector of D numbers too many, such as a class token or a second bias.",
        lambda hidden: hidden,
    ),
    Slip(
        "norms-added",
        "The module learns extra numbers, as many as LayerNorms would.",
        lambda patch: 2 * patch,
        lambda hidden: 2 * hidden,
        lambda patch, hidden: 2 * (patch + hidden),
    ),
    Slip(
        "weights-not-shared",
        "Each place in the image has its own matrix.",
        lambda tokens, matrix: (tokens - 1) * matrix,
        lambda tokens, right: (tokens - 1) * right,
    ),
    Slip(
        "one-matrix-for-the-image",
        "One matrix acts on the whole image, so every token sees every pixel.",
        lambda tokens, matrix, right: (tokens**2 - 1) * matrix + (tokens - 1) * (right - matrix),
    ),
    Slip(
        "window-not-patch",
        "The window of the convolution is larger than a patch.",
        lambda matrix: 3 * matrix,
        lambda matrix: 8 * matrix,
        lambda side, channels, hidden: ((side + 1) ** 2 - side**2) * channels * hidden,
        lambda side, channels, hidden: ((side + 2) ** 2 - side**2) * channels * hidden,
        lambda side, channels, hidden: ((2 * side - 1) ** 2 - side**2) * channels * hidden,
    ),
]

ORDERS = [
    Slip(
        "bare-reshape",
        "A reshape turns (B, P*P*C, N) into (B, N, P*P*C), so a token holds pieces of several patches.",
        lambda x, side: F.unfold(x.float(), side, stride=side).reshape(1, -1, side * side * x.shape[1]),
    ),
    Slip(
        "windows-overlap",
        "The window moves by less than P and overlaps with itself.",
        lambda x, side: F.unfold(x.float(), side, stride=1).mT,
        lambda x, side: F.unfold(x.float(), side, stride=2).mT,
        lambda x, side: F.unfold(x.float(), side, stride=3).mT,
        lambda x, side: F.unfold(x.float(), side, stride=4).mT,
    ),
    Slip(
        "columns-first",
        "The tokens run down the image, column by column.",
        lambda x, side: rearrange(x, "b k (r i) (c j) -> b (c r) (i j k)", i=side, j=side),
    ),
    Slip(
        "patches-by-reshape",
        "The patches come from one reshape, so they are not squares.",
        lambda x, side: x.reshape(1, -1, side * side * x.shape[1]),
    ),
    Slip(
        "strips",
        "Each patch is filled with strips from the full width of the image.",
        lambda x, side: x.movedim(1, -1).reshape(1, -1, side * side * x.shape[1]),
    ),
    Slip(
        "split-swapped",
        "Height and width are split the wrong way round: neighbours in a patch are not neighbours in the image.",
        lambda x, side: rearrange(x, "b k (i r) (j c) -> b (r c) (i j k)", i=side, j=side),
    ),
]

ALIKE = [
    Slip(
        "patches-not-alike",
        "The same pixels give different tokens at different places in the image.",
        lambda by_patch: not agree(by_patch, by_patch[:, :1].expand_as(by_patch)),
    ),
    Slip(
        "patches-not-alike",
        "In a completely black image, the tokens are not all the same.",
        lambda dark: not agree(dark, dark[:, :1].expand_as(dark)),
    ),
    Slip(
        "pixels-alike",
        "All pixels of a patch count equally, as if only their mean were used: E has a row for each of them.",
        lambda one: agree(one, one.mean((2, 3), keepdim=True).expand_as(one)),
    ),
    Slip(
        "channels-alike",
        "All channels count equally, as if only their mean were used.",
        lambda one: agree(one, one[:, :1].expand_as(one)),
    ),
]

UNFIT = [
    Slip(
        "pixels-dropped",
        "An image that P does not divide is silently cropped.",
        lambda cropped: cropped,
    ),
    Slip(
        "image-resized",
        "An image that P does not divide is silently resized.",
        lambda tokens, high, side, wide: tokens == high // side * (wide // side),
    ),
    Slip(
        "image-filled-up",
        "An image that P does not divide is silently enlarged.",
        lambda tokens, high, side, wide: tokens == -(-high // side) * -(-wide // side),
    ),
    Slip("wrong-behaviour", "An image that P does not divide raises no error.", True),
]
