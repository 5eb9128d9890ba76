"""Checks of chapter 01: patches and patch tokens."""

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

from vit_course.attention import attention_weights
from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools import (
    Mistake,
    agree,
    build,
    call,
    describe,
    equal,
    same_answers,
    same_function,
    same_values,
    tensor,
)
from vit_course.checks.tools import count as numbers_learned
from vit_course.patches import patchify as cut
from vit_course.patches import unpatchify as paste


@exercise("How many patches, mended", difficulty=2, minutes=7)
def count(answer, draw):
    """`answer(height, width, patch_size)` -> N, an int; a ValueError for a side that P does not divide."""
    sizes = [draw.sizes(3) for _ in range(3)]
    fitting = [(rows * side, columns * side, side) for rows, columns, side in sizes]
    for arguments in fitting:
        _not_refused(answer, arguments)
    same_values(
        answer,
        lambda height, width, patch_size: (height // patch_size) * (width // patch_size),
        fitting,
        mistakes=[
            Mistake(
                "one-side-only",
                "Patches are counted along one side only.",
                lambda height, width, side: height // side,
            ),
            Mistake(
                "one-side-only",
                "Patches are counted along one side only.",
                lambda height, width, side: width // side,
            ),
            Mistake(
                "square-assumed",
                "The height is used for both sides, as if every image were square.",
                lambda height, width, side: (height // side) ** 2,
            ),
            Mistake(
                "square-assumed",
                "The width is used for both sides, as if every image were square.",
                lambda height, width, side: (width // side) ** 2,
            ),
            Mistake(
                "sides-added",
                "The rows and the columns of patches are added up.",
                lambda height, width, side: height // side + width // side,
            ),
            Mistake(
                "side-not-squared",
                "The pixels of the image are divided by the side of a patch, not by its pixels.",
                lambda height, width, side: height * width // side,
            ),
            Mistake(
                "class-token-counted",
                "There is one too many: this counts tokens of the whole model, and patches are asked for.",
                lambda height, width, side: (height // side) * (width // side) + 1,
            ),
        ],
    )
    _refuses(answer, draw)


def _not_refused(answer, arguments) -> None:
    try:
        call(answer, *arguments)
    except Wrong as wrong:
        # Any other error is for `same_values` to report.
        if isinstance(wrong.__cause__, ValueError):
            raise Wrong(
                "good-size-refused",
                "An image is refused although its height and its width are multiples of P.",
                [_sizes(*arguments), *wrong.details],
            ) from None


def _refuses(answer, draw) -> None:
    rows, columns, half = draw.sizes(3)
    side = 2 * half
    little = draw.choose(range(1, half))
    much = side - little
    unfit = [
        (rows * side + little, columns * side, side),
        (rows * side, columns * side + much, side),
        (rows * side + much, columns * side + little, side),
        # P * P divides the area of these.
        (rows * side + half, 2 * columns * side, side),
        (2 * rows * side, columns * side + half, side),
        (4, 9, 6),
    ]
    received = []
    for arguments in unfit:
        try:
            received.append(call(answer, *arguments))
        except Wrong as wrong:
            if not wrong.__cause__:
                raise
            if not isinstance(wrong.__cause__, ValueError):
                raise Wrong(
                    "another-error",
                    "An image that cannot be cut is refused, with another error than the one asked for.",
                    [_sizes(*arguments), *wrong.details],
                ) from None
            received.append(ValueError)
    passed = [index for index, one in enumerate(received) if one is not ValueError]
    if not passed:
        return
    first = passed[0]
    details = [_sizes(*unfit[first]), "Expected: a ValueError", f"Received: {describe(received[first])}"]
    refusals = {
        "only-area-checked": (
            "It is the area that is compared with the patch: some images pass although a side does not fit.",
            [h * w % p**2 == 0 for h, w, p in unfit],
        ),
        "only-height-checked": (
            "The width is not looked at: an image passes if its height fits.",
            [h % p == 0 for h, _, p in unfit],
        ),
        "only-width-checked": (
            "The height is not looked at: an image passes if its width fits.",
            [w % p == 0 for _, w, p in unfit],
        ),
        "refused-only-if-both": (
            "An image is refused only if neither side fits: one side that fits lets the other pass.",
            [h % p == 0 or w % p == 0 for h, w, p in unfit],
        ),
    }
    for slug, (sentence, passes) in refusals.items():
        if [one is not ValueError for one in received] == passes:
            raise Wrong(slug, sentence, details)
    if len(passed) == len(unfit):
        quiet = {
            "rounds-down": (
                "The rest of an image that does not fit is dropped without a word.",
                [(h // p) * (w // p) for h, w, p in unfit],
            ),
            "rounds-up": (
                "An incomplete patch is counted as a whole one without a word.",
                [-(-h // p) * -(-w // p) for h, w, p in unfit],
            ),
            "area-divided": (
                "Area is divided by area, so pieces that are no squares are counted, without a word.",
                [h * w // p**2 for h, w, p in unfit],
            ),
        }
        for slug, (sentence, values) in quiet.items():
            if received == values:
                raise Wrong(slug, sentence, details)
        if all(not isinstance(one, (int, float)) or isinstance(one, bool) or one <= 0 for one in received):
            raise Wrong(
                "returned-not-raised",
                "For an image that cannot be cut something is returned, so the code that called goes on.",
                details,
            )
    raise Wrong("wrong-behaviour", "An image that cannot be cut into whole patches is not refused.", details)


def _sizes(height: int, width: int, side: int) -> str:
    return f"Input:    height = {height}, width = {width}, patch_size = {side}"


@exercise("Images into patches", difficulty=2, minutes=8)
def patchify(answer, draw):
    """`answer(images, patch_size)`: (B, C, H, W) -> (B, N, P*P*C), patches and pixels row by row, channel last."""
    draws = []
    for batch, channels, rows, columns, side in (draw.sizes(5, 2, 7), draw.sizes(5, 2, 7)):
        draws.append((draw.normal(batch, channels, rows * side, columns * side), side))

    def mistake(slug, sentence, pattern):
        return Mistake(slug, sentence, lambda images, side: _rearranged(images, side, pattern))

    transposed = "Each patch is flipped about its diagonal: its pixels run column by column."
    kept = "Each patch is still a block with axes of its own, not one long row of numbers."
    last = "The patches lie on the last axis, where the numbers of a patch should lie."
    same_function(
        answer,
        cut,
        draws,
        axes="(B, N, P*P*C)",
        mistakes=[
            Mistake(
                "bare-reshape",
                "One reshape makes the patches: each holds a stretch of the rows of a channel, not a square.",
                _bare,
            ),
            Mistake(
                "strips",
                "The rows inside a patch are not kept apart from the columns of patches: each patch is filled with "
                "strips from the full width of the image.",
                _strips,
            ),
            mistake(
                "split-swapped",
                "Height and width are split the wrong way round: neighbours in a patch are no neighbours in the image.",
                "b k (i r) (j c) -> b (r c) (i j k)",
            ),
            mistake(
                "columns-first",
                "The patches run down the image first, column by column.",
                "b k (r i) (c j) -> b (c r) (i j k)",
            ),
            mistake(
                "channels-first",
                "Inside a patch the channel comes first, as `unfold` has it.",
                "b k (r i) (c j) -> b (r c) (k i j)",
            ),
            mistake("pixels-transposed", transposed, "b k (r i) (c j) -> b (r c) (j i k)"),
            mistake(
                "image-transposed",
                "Patches and pixels both run column by column, as if the image were flipped about its diagonal.",
                "b k (r i) (c j) -> b (c r) (j i k)",
            ),
            mistake("patches-last", last, "b k (r i) (c j) -> b (i j k) (r c)"),
            mistake("patches-last", last, "b k (r i) (c j) -> b (k i j) (r c)"),
            mistake(
                "grid-kept",
                "The patches still lie on two axes, a grid, not in one sequence.",
                "b k (r i) (c j) -> b r c (i j k)",
            ),
            mistake("patch-kept", kept, "b k (r i) (c j) -> b (r c) i j k"),
            mistake("patch-kept", kept, "b k (r i) (c j) -> b (r c) k i j"),
            mistake(
                "patches-before-batch",
                "The patches come before the batch.",
                "b k (r i) (c j) -> (r c) b (i j k)",
            ),
            mistake(
                "batch-joined",
                "The patches of all images lie on one axis.",
                "b k (r i) (c j) -> (b r c) (i j k)",
            ),
        ],
    )


def _rearranged(images, side, pattern):
    return rearrange(images, pattern, i=side, j=side)


def _bare(images, side):
    return images.reshape(len(images), -1, side * side * images.shape[1])


def _strips(images, side):
    return images.permute(0, 2, 3, 1).reshape(len(images), -1, side * side * images.shape[1])


@exercise("Patches back into images", difficulty=2, minutes=8)
def unpatchify(answer, draw):
    """`answer(patches, patch_size, image_size)`: (B, N, P*P*C), P, (H, W) -> (B, C, H, W)"""
    draws = []
    for batch, channels, rows, columns, side in (draw.sizes(5, 2, 7), draw.sizes(5, 2, 7)):
        patches = draw.normal(batch, rows * columns, side * side * channels)
        draws.append((patches, side, (rows * side, columns * side)))

    def mistake(slug, sentence, pattern):
        def function(patches, side, size):
            return rearrange(patches, pattern, r=size[0] // side, c=size[1] // side, i=side, j=side)

        return Mistake(slug, sentence, function)

    def as_cells(patches, side, rows, columns):
        return patches.reshape(len(patches), rows, columns, side, side, -1)  # (B, H/P, W/P, P, P, C)

    def in_order(patches, side, size, order):
        cells = as_cells(patches, side, size[0] // side, size[1] // side)
        return cells.permute(order).reshape(len(patches), -1, *size)

    def grid_swapped(patches, side, size):
        cells = as_cells(patches, side, size[1] // side, size[0] // side)
        return cells.permute(0, 5, 1, 3, 2, 4).reshape(len(patches), -1, *size)

    def square_grid(patches, side, size):
        edge = int(patches.shape[1] ** 0.5)
        return paste(patches[:, : edge * edge], side, (edge * side, edge * side))

    same_function(
        answer,
        paste,
        draws,
        axes="(B, C, H, W)",
        mistakes=[
            Mistake(
                "bare-reshape",
                "One reshape makes the image: each patch is laid out as whole rows of pixels, not as a square.",
                lambda patches, side, size: patches.reshape(len(patches), -1, *size),
            ),
            Mistake(
                "not-interleaved",
                "The rows of patches and the rows inside a patch are not neighbours when the axes are joined: each "
                "patch is laid out as whole rows of pixels.",
                lambda patches, side, size: in_order(patches, side, size, (0, 5, 1, 2, 3, 4)),
            ),
            Mistake(
                "cut-again",
                "The axes are put in the order of the cut a second time, and not back.",
                lambda patches, side, size: in_order(patches, side, size, (0, 2, 4, 3, 5, 1)),
            ),
            mistake(
                "join-swapped",
                "The row inside a patch is counted before the row of patches: neighbours in a patch are pulled apart.",
                "b (r c) (i j k) -> b k (i r) (j c)",
            ),
            mistake(
                "columns-first",
                "The patches are laid out column by column.",
                "b (c r) (i j k) -> b k (r i) (c j)",
            ),
            mistake(
                "channels-first",
                "The numbers of a patch are read with the channel first, as `unfold` has them.",
                "b (r c) (k i j) -> b k (r i) (c j)",
            ),
            mistake(
                "pixels-transposed",
                "Each patch is flipped about its diagonal.",
                "b (r c) (j i k) -> b k (r i) (c j)",
            ),
            mistake(
                "channels-last",
                "The channels are the last axis of the image.",
                "b (r c) (i j k) -> b (r i) (c j) k",
            ),
            mistake(
                "image-transposed",
                "The image is flipped about its diagonal: its width comes before its height.",
                "b (r c) (i j k) -> b k (c j) (r i)",
            ),
            Mistake(
                "size-swapped",
                "The size is read as width and height, so the patches are laid out in rows of the wrong length.",
                lambda patches, side, size: paste(patches, side, size[::-1]),
            ),
            Mistake(
                "grid-swapped",
                "The rows and the columns of the grid have changed places, so the rows of patches are of the wrong "
                "length.",
                grid_swapped,
            ),
            Mistake(
                "square-grid",
                "The grid is taken to be as high as it is wide.",
                square_grid,
            ),
        ],
    )


@exercise("Where one pixel goes", difficulty=1, minutes=8)
def pixel(answer, draw, parts):
    """`answer()` -> a dict of six counts: where a number of an image lands, and what smaller patches cost."""
    height, width, side, row, column, channel = 48, 72, 8, 19, 37, 2
    image = torch.zeros(1, 3, height, width)
    image[0, channel, row, column] = 1.0
    patches = cut(image, side)  # (B, N, P*P*C)
    unfolded = F.unfold(image, side, stride=side)  # (B, C*P*P, N)
    windows = F.conv2d(image, torch.ones(1, 3, 24, 24), stride=8, padding=8)  # (B, 1, H/P, W/P)
    large = cut(image, 24)
    pairs = [attention_weights(x, x).numel() for x in (large, patches)]
    rows, columns = height // side, width // side
    patch, place = (patches[0].nonzero()[0]).tolist()
    # The same number in its patch: row and column there.
    inner = (row % side, column % side)
    channel_first = unfolded[0].nonzero()[0, 0].item()
    same_answers(
        call(answer),
        {
            "patch": patch,
            "place": place,
            "place_with_unfold": channel_first,
            "tokens_changed": int(windows.count_nonzero()),
            "times_the_pairs": pairs[1] // pairs[0],
            "times_the_products": patches.numel() // large.numel(),
        },
        parts,
        mistakes={
            "patch": {
                patch + 1: ("counted-from-one", "This counts from 1."),
                (column // side) * rows + row // side: (
                    "columns-first",
                    "This counts the patches down the image, column by column.",
                ),
                (row // side) * rows + column // side: (
                    "rows-for-columns",
                    "A row of patches is taken to be as long as there are rows.",
                ),
                row * width + column: ("pixels-counted", "This counts the pixels before it, not the patches."),
            },
            "place": {
                place + 1: ("counted-from-one", "This counts from 1."),
                channel_first: ("channels-first", "This is the place if the channel comes first."),
                inner[0] * side + inner[1]: ("channels-forgotten", "This counts pixels; a pixel has several numbers."),
                (inner[1] * side + inner[0]) * 3 + channel: (
                    "pixels-transposed",
                    "This is the place if the pixels run column by column.",
                ),
            },
            "place_with_unfold": {
                channel_first + 1: ("counted-from-one", "This counts from 1."),
                place: ("channels-last", "This is the place in the course's own order."),
                channel * side * side + inner[1] * side + inner[0]: (
                    "pixels-transposed",
                    "This is the place if the pixels run column by column.",
                ),
            },
            "tokens_changed": {
                1: ("overlap-forgotten", "This would be right if the windows did not overlap."),
                3: ("one-direction-only", "This counts the windows along one direction."),
                4: ("windows-twice-the-step", "This would be right if the window were twice the step."),
                6: ("directions-added", "The numbers for the two directions are added."),
                rows * columns: ("all-tokens", "No window is as large as the image."),
            },
            "times_the_pairs": {
                3: ("side-only", "This is how much the side of a patch shrinks."),
                9: ("patches-not-pairs", "This is for the number of patches; attention looks at pairs of them."),
                27: ("wrong-power", "This grows with the third power of the side."),
                12: ("factors-added", "Factors are added here that act one upon the other."),
            },
            "times_the_products": {
                3: ("side-only", "This is how much the side of a patch shrinks."),
                9: ("length-forgotten", "This is for the number of patches, as if each were still as long."),
                1 / 9: ("number-forgotten", "This is for the length of a patch, as if there were still as many."),
                81: ("pairs-not-products", "This is for the pairs; the product with E takes the patches one by one."),
            },
        },
    )


@exercise("A patch embedding that drops nothing", difficulty=3, minutes=15)
def embedding(answer, draw):
    """`answer(patch_size, in_channels, hidden_dim)` -> a module (B, C, H, W) -> (B, N, D), an error for a bad size."""
    for _ in range(2):
        channels, rows, columns, side = draw.sizes(4, 2, 5)
        # None of them a number of tokens, a multiple of P, or such that a second layer looks like a larger window.
        batch, hidden = draw.choose([9, 13]), draw.choose([7, 11])
        module = _built(answer, side, channels, hidden)
        images = draw.normal(batch, channels, rows * side, columns * side)
        out = call(module, images)
        _shape(out, module, images, side, hidden)
        _parameters(module, images, side, hidden)
        if not out.requires_grad:
            raise Wrong("gradient-cut", "No gradient reaches the parameters, so they could not be trained.")
        out.sum().backward()
        if any(parameter.grad is None for parameter in module.parameters() if parameter.requires_grad):
            raise Wrong("unused-parameters", "Some of the parameters have no part in the output.")
        _known_parameters(module, draw, channels * side * side)
        _linear(module, images)
        _pixels(module, images, side)
        _other_sizes(module, images, side, hidden)


def _built(answer, side, channels, hidden) -> nn.Module:
    try:
        return build(answer, side, channels, hidden)
    except Wrong as wrong:
        if wrong.mistake != "raised-error":
            raise
        try:
            build(answer, side, channels, side * hidden)
        except Wrong:
            raise wrong from None
        raise Wrong(
            "hidden-width-checked",
            "The constructor refuses a hidden width that P does not divide, and the one need not fit the other.",
            [f"Input:    P = {side}, D = {hidden}", *wrong.details],
        ) from None


def _shape(out, module, images, side, hidden) -> None:
    batch, channels, height, width = images.shape
    rows, columns = height // side, width // side
    shape = (batch, rows * columns, hidden)
    known = {
        (batch, hidden, rows, columns): (
            "picture-kept",
            "The tokens still lie on a grid, with their width before it, as the convolution returns them.",
        ),
        (batch, rows, columns, hidden): ("grid-kept", "The tokens still lie on a grid, not in one sequence."),
        (batch, hidden, rows * columns): ("tokens-last", "The tokens lie on the last axis, where D should lie."),
        (rows * columns, batch, hidden): ("tokens-before-batch", "The tokens come before the batch."),
        (batch * rows * columns, hidden): ("batch-joined", "The tokens of all images lie on one axis."),
        (batch, rows * columns + 1, hidden): ("class-token-added", "There is a token more than there are patches."),
        (batch, rows * columns, side * side * channels): ("not-projected", "These are patches, not yet tokens."),
        (batch, (height - side + 1) * (width - side + 1), hidden): (
            "stride-missing",
            "The window stops at every pixel, so there are far more tokens than patches.",
        ),
    }
    for step in range(2, side):
        known[batch, ((height - side) // step + 1) * ((width - side) // step + 1), hidden] = (
            "windows-overlap",
            f"The window moves by {step} pixels and overlaps with itself.",
        )
    found = tuple(out.shape) if isinstance(out, torch.Tensor) else None
    if found != shape and found in known:
        raise Wrong(*known[found], [f"Expected: {shape} (B, N, D)", f"Received: {found}"])
    if found is not None and found != shape:
        _parameters(module, images, side, hidden)  # may know why
    tensor(out, shape, "(B, N, D)", "the output")


def _parameters(module, images, side, hidden) -> None:
    channels, found = images.shape[1], numbers_learned(module)
    patch = side * side * channels
    matrix, tokens = patch * hidden, images[0].numel() // patch
    if found - matrix in (0, hidden):
        return
    details = [
        f"Expected: {matrix} numbers, and {hidden} more with a bias, at P = {side}, C = {channels}, D = {hidden}",
        f"Received: {found}",
    ]
    known = {
        0: ("no-parameters", "Nothing is learned: what the module multiplies with is not among its parameters."),
        hidden: ("no-matrix", "Only one vector is learned: the matrix is not among the parameters."),
    }
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


def _linear(module, images) -> None:
    out = call(module, images).detach()
    if not agree(call(module, images), out):
        raise Wrong("random-result", "Called twice with the same images, your module gives two results.")
    equal(
        call(module, images[:1]),
        out[:1],
        "batch-mates-matter",
        "The tokens of one image change with the other images of the batch.",
        axes="(B, N, D)",
    )
    bias = call(module, torch.zeros_like(images)).detach()
    scaled = call(module, -2 * images).detach()
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


def _pixels(module, images, side) -> None:
    # One image for each number of an image: which tokens does it reach?
    channels, height, width = images.shape[1:]
    numbers = channels * height * width
    single = torch.eye(numbers).reshape(numbers, channels, height, width)
    dark = call(module, torch.zeros(1, channels, height, width)).detach()
    response = call(module, single).detach() - dark  # (C*H*W, N, D)
    reached = _reached(response)  # (C*H*W, N)
    expected = _of_the(cut, images, side)
    if not torch.equal(reached, expected):
        _name_the_order(response, reached, images, side)
        if not (reached & ~expected).any():
            place = (reached != expected).any(dim=1).nonzero()[0].item()
            raise Wrong("pixels-ignored", "Some numbers of the image reach no token.", [_place(place, images)])
        _tell(reached, expected, images)
    matrix = response.sum(dim=1).T.reshape(-1, channels, height, width)  # (D, C, H, W)
    by_patch = cut(matrix, side)  # (D, N, P*P*C)
    if not agree(by_patch, by_patch[:, :1].expand_as(by_patch)):
        raise Wrong("patches-not-alike", "The same pixels give other tokens at another place in the image.")
    if not agree(dark, dark[:, :1].expand_as(dark)):
        raise Wrong("patches-not-alike", "In an image that is all black the tokens are not all the same.")


def _reached(response):
    part = response.abs().amax(dim=2)
    return part > 1e-3 * part.max()


def _of_the(function, images, side):
    """(C*H*W, N): which number of the image is in which patch, by this way of cutting."""
    channels, height, width = images.shape[1:]
    places = torch.arange(channels * height * width).reshape(1, channels, height, width)
    patches = function(places, side)[0]  # (N, P*P*C)
    owner = torch.zeros(places.numel(), len(patches), dtype=torch.bool)
    owner[patches.flatten(), torch.arange(len(patches)).repeat_interleave(patches.shape[1])] = True
    return owner


def _name_the_order(response, reached, images, side) -> None:
    numbers, tokens, hidden = response.shape
    straight = response.reshape(numbers, hidden, tokens).transpose(1, 2)
    if torch.equal(_reached(straight), _of_the(cut, images, side)):
        raise Wrong(
            "bare-reshape",
            "A reshape turns (B, D, H/P, W/P) into (B, N, D), so a token holds pieces of several tokens.",
        )

    def by(pattern):
        return lambda images, side: _rearranged(images, side, pattern)

    for step in range(1, side):
        if torch.equal(reached, _of_the(lambda x, side, step=step: _windows(x, side, step), images, side)):
            raise Wrong("windows-overlap", f"The window moves by {step} pixels and overlaps with itself.")

    for slug, sentence, function in (
        (
            "columns-first",
            "The tokens run down the image first, column by column.",
            by("b k (r i) (c j) -> b (c r) (i j k)"),
        ),
        ("patches-by-reshape", "The patches come from one reshape: they are not squares.", _bare),
        ("strips", "Each patch is filled with strips from the full width of the image.", _strips),
        (
            "split-swapped",
            "Height and width are split the wrong way round: neighbours in a patch are no neighbours in the image.",
            by("b k (i r) (j c) -> b (r c) (i j k)"),
        ),
    ):
        if torch.equal(reached, _of_the(function, images, side)):
            raise Wrong(slug, sentence)


def _windows(images, side, step):
    return F.unfold(images.float(), side, stride=step).mT.long()


def _tell(reached, expected, images) -> None:
    place = (reached != expected).any(dim=1).nonzero()[0].item()
    found = reached[place].nonzero().flatten().tolist()
    raise Wrong(
        "wrong-behaviour",
        "A number of the image reaches other tokens than that of its patch.",
        [
            _place(place, images),
            f"Expected: it changes token {expected[place].nonzero().item()} alone",
            f"Received: it changes {_listed(found)}",
        ],
    )


def _listed(tokens: list[int]) -> str:
    if len(tokens) < 2:
        return f"token {tokens[0]}" if tokens else "no token"
    return "tokens " + ", ".join(map(str, tokens[:6])) + (", ..." if tokens[6:] else "")


def _place(place: int, images) -> str:
    height, width = images.shape[2:]
    channel, row, column = place // (height * width), place // width % height, place % width
    return f"Input:    channel {channel}, row {row}, column {column} of images of {height} x {width}"


def _other_sizes(module, images, side, hidden) -> None:
    channels, height, width = images.shape[1:]
    larger = images.new_ones(2, channels, height + side, width + 2 * side)
    expected = (2, larger[0, 0].numel() // side**2, hidden)
    try:
        tensor(call(module, larger), expected, "(B, N, D)", "the output")
    except Wrong as wrong:
        raise Wrong(
            "hard-coded-size",
            "The module fits one size of image only, and other sizes are just as good.",
            [f"Input:    {describe(larger)} after {describe(images)}, P = {side}", *wrong.details],
        ) from None
    for more in ((1, 0), (0, 1), (side - 1, side - 1)):
        unfit = images.new_ones(1, channels, height + more[0], width + more[1])
        try:
            received = call(module, unfit)
        except Wrong as wrong:
            if wrong.mistake != "raised-error":
                raise
            continue
        details = [f"Input:    {describe(unfit)}, P = {side}", "Expected: an error", f"Received: {describe(received)}"]
        if isinstance(received, torch.Tensor) and received.shape[1:2] == (height // side * (width // side),):
            raise Wrong("pixels-dropped", "An image that P does not divide is cut short without a word.", details)
        raise Wrong("wrong-behaviour", "An image that P does not divide is embedded without a word.", details)
