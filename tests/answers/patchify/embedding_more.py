"""More answers to exercise patchify.embedding: images of one's own, tokens that are missing or too many, axes mixed."""

import torch
import torch.nn.functional as F
from torch import nn

from answers import wrong
from answers.patchify.embedding import Variant


def _cut(mistake, cut):
    wrong("patchify.embedding", mistake)(type(mistake, (Variant,), {"cut": lambda self, images: cut(images, self.P)}))


def _axes(*order):
    def cut(images, side):
        batch, channels, height, width = images.shape
        grid = images.reshape(batch, channels, height // side, side, width // side, side)
        return grid.permute(order).reshape(batch, -1, side * side * channels)

    return cut


def _mean_of_each_channel(images, side):
    return F.avg_pool2d(images, side).flatten(2).mT.repeat(1, 1, side * side)


def _mean_of_channels(images, side):
    grey = images.mean(1, keepdim=True).expand_as(images)
    return F.unfold(grey, side, stride=side).mT


def _refused(function):
    def cut(images, side):
        if images.shape[2] % side or images.shape[3] % side:
            raise ValueError("does not fit")
        return function(images, side)

    return cut


_cut("pixels-alike", _refused(_mean_of_each_channel))
_cut("channels-alike", _refused(_mean_of_channels))
_cut("bare-reshape", lambda x, side: F.unfold(x, side, stride=side).reshape(len(x), -1, side * side * x.shape[1]))
_cut("grid-and-patch-exchanged", _axes(0, 3, 5, 1, 2, 4))
_cut("square-images-only", lambda x, side: F.unfold(x.view(len(x), -1, x.shape[2], x.shape[2]), side, stride=side).mT)


class _Loops(Variant):
    def forward(self, images):
        height, width = images.shape[2:]
        patches = [
            images[:, :, row : row + self.P, column : column + self.P].flatten(1)
            for row in self.starts(height)
            for column in self.starts(width)
        ]
        return torch.stack([self.linear(patch) for patch in patches], 1)


@wrong("patchify.embedding", "patches-missing")
class EndsTooEarly(_Loops):
    def starts(self, size):
        return range(0, size - self.P, self.P)


@wrong("patchify.embedding", "tokens-joined")
class JoinedAlongTheWidth(_Loops):
    def starts(self, size):
        return range(0, size, self.P)

    def forward(self, images):
        return super().forward(images).flatten(1)


@wrong("patchify.embedding", "tokens-too-many")
class MuchHigher(Variant):
    def make(self):
        # So many rows of patches that no other slip makes as many tokens.
        self.conv = nn.Conv2d(self.C, self.D, self.P, self.P, padding=(100 * self.P, 0))

    def forward(self, images):
        return self.conv(images).flatten(2).mT
