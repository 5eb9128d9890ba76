"""Which numbers of an image reach which tokens of a patch embedding, and how: for embedding."""

import torch
import torch.nn.functional as F

from vit_course.checks.patchify.shared import bare, rearranged, strips
from vit_course.checks.report import Wrong
from vit_course.checks.tools.modules import feed
from vit_course.checks.tools.table import refuse
from vit_course.patches import patchify as cut


def pixels_of_patches(module, images, side) -> None:
    """Raises `Wrong` unless each token is made of its own patch, all of it, and all patches alike."""
    # One image for each number of an image: which tokens does it reach?
    channels, height, width = images.shape[1:]
    numbers = channels * height * width
    single = torch.eye(numbers).reshape(numbers, channels, height, width)
    dark = feed(module, torch.zeros(1, channels, height, width)).detach()
    response = feed(module, single).detach() - dark  # (C*H*W, N, D)
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
    one = matrix[..., :side, :side]  # (D, C, P, P)
    refuse(__name__, "alike", locals())


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
    channels, side2 = images.shape[1], side * side

    def unfolded(images, side):
        return F.unfold(images.float(), side, stride=side).reshape(len(images), tokens, channels * side2).long()

    if torch.equal(reached, _of_the(unfolded, images, side)):
        sentence = "A reshape turns (B, P*P*C, N) into (B, N, P*P*C), so a token holds pieces of several patches."
        raise Wrong("bare-reshape", sentence)
    straight = response.reshape(numbers, hidden, tokens).transpose(1, 2)
    if torch.equal(_reached(straight), _of_the(cut, images, side)):
        raise Wrong(
            "bare-reshape",
            "A reshape turns (B, D, H/P, W/P) into (B, N, D), so a token holds pieces of several tokens.",
        )

    def by(pattern):
        return lambda images, side: rearranged(images, side, pattern).reshape(len(images), tokens, -1)

    for step in range(1, side):
        if torch.equal(reached, _of_the(lambda x, side, step=step: _windows(x, side, step), images, side)):
            raise Wrong("windows-overlap", f"The window moves by {step} pixels and overlaps with itself.")

    for slug, sentence, function in (
        (
            "columns-first",
            "The tokens run down the image first, column by column.",
            by("b k (r i) (c j) -> b (c r) (i j k)"),
        ),
        *(
            (
                "grid-and-patch-exchanged",
                "The axes of the grid and those inside a patch have changed places.",
                by(pattern),
            )
            for pattern in ("b k (r i) (c j) -> b (i j) (k r c)", "b k (i r) (j c) -> b (i j) (k r c)")
        ),
        ("patches-by-reshape", "The patches come from one reshape: they are not squares.", bare),
        ("strips", "Each patch is filled with strips from the full width of the image.", strips),
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
