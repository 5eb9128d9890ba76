"""Which sizes a patch embedding takes: in the constructor, and of images that P divides or does not."""

import re

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.modules import build, feed
from vit_course.checks.tools.tensors import tensor
from vit_course.checks.tools.words import describe


def built(answer, side, channels, hidden) -> nn.Module:
    """A module of these sizes; a `Wrong` where the constructor refuses them."""
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


def first_output(answer, module, images, side, hidden):
    """What the module gives for images whose sides P divides; a `Wrong` where it refuses them."""
    try:
        return feed(module, images)
    except Wrong as wrong:
        if wrong.mistake != "raised-error":
            raise
        # Whoever wrote it may have thought of other images.
        height = images.shape[2]
        for channels, width, slug, sentence in (
            (images.shape[1], height, "square-images-only", "Square images go through, others do not."),
            (3, images.shape[3], "three-channels-only", "Images of three channels go through, others do not."),
            (1, images.shape[3], "one-channel-only", "Images of one channel go through, others do not."),
        ):
            try:
                feed(build(answer, side, channels, hidden), images[:, :1, :, :1].repeat(1, channels, 1, width))
            except Wrong:
                continue
            raise Wrong(slug, sentence, wrong.details) from None
        if any(re.search(r"`(raise|assert)\b", line) for line in wrong.details):
            sentence = "An image is refused although P divides its height and its width."
            raise Wrong("good-size-refused", sentence, wrong.details) from None
        raise


def other_sizes(module, images, side, hidden) -> None:
    """Raises `Wrong` unless the module takes larger images that P divides, and no others."""
    channels, height, width = images.shape[1:]
    larger = images.new_ones(2, channels, height + side, width + 2 * side)
    expected = (2, larger[0, 0].numel() // side**2, hidden)
    try:
        tensor(feed(module, larger), expected, "(B, N, D)", "the output")
    except Wrong as wrong:
        raise Wrong(
            "hard-coded-size",
            "The module fits one size of image only, and other sizes are just as good.",
            [f"Input:    {describe(larger)} after {describe(images)}, P = {side}", *wrong.details],
        ) from None
    # The last two have an area of whole patches, and pixels of one image fill them though a side does not fit.
    unfits = [(height + 1, width), (height, width + 1), (height + side - 1, width + side - 1)]
    unfits += [(side * side, width + 1), (height + 1, side * side)]
    for unfit_height, unfit_width in unfits:
        unfit = images.new_ones(1, channels, unfit_height, unfit_width)
        try:
            received = feed(module, unfit)
        except Wrong as wrong:
            if wrong.mistake != "raised-error":
                raise
            continue
        details = [f"Input:    {describe(unfit)}, P = {side}", "Expected: an error", f"Received: {describe(received)}"]
        if isinstance(received, torch.Tensor) and received.shape[1:2] == (
            unfit_height // side * (unfit_width // side),
        ):
            raise Wrong("pixels-dropped", "An image that P does not divide is cut short without a word.", details)
        filled_up = -(-unfit_height // side) * -(-unfit_width // side)
        if isinstance(received, torch.Tensor) and received.shape[1:2] == (filled_up,):
            raise Wrong("image-filled-up", "An image that P does not divide is made larger without a word.", details)
        raise Wrong("wrong-behaviour", "An image that P does not divide raises no error.", details)
