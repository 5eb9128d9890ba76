"""Answers to exercise patchify.embedding."""

import torch
import torch.nn.functional as F
from einops import rearrange
from einops.layers.torch import Rearrange
from torch import nn

from answers import UNKNOWN, Answers
from vit_course.patches import PatchEmbedding, patchify

answers = Answers("patchify.embedding")

answers.edits(
    ("three-channels-only", "in_channels, hidden_dim, kernel", "3, hidden_dim, kernel"),
    ("pixels-dropped", " or ", " and "),
)

answers.right(PatchEmbedding)


@answers.right
class ByConvolution(nn.Module):
    def __init__(self, patch_size, in_channels, hidden_dim, **options):
        super().__init__()
        self.patch_size = patch_size
        options = {"kernel_size": patch_size, "stride": patch_size} | options
        self.projection = nn.Conv2d(in_channels, hidden_dim, **options)

    def forward(self, images):
        return self.to_sequence(self.projection(self.fit(images)))

    def fit(self, images):
        H, W = images.shape[2:]
        if H % self.patch_size or W % self.patch_size:
            raise ValueError(f"{H} x {W} is not a multiple of {self.patch_size}")
        return images

    def to_sequence(self, x):
        return x.flatten(2).transpose(1, 2)


@answers.right
class ByLinear(nn.Module):
    def __init__(self, P, C, D):
        super().__init__()
        self.P = P
        self.linear = nn.Linear(P * P * C, D)

    def forward(self, images):
        H, W = images.shape[2:]
        assert H % self.P == 0 and W % self.P == 0
        return self.linear(self.cut(images))

    def cut(self, images):
        return patchify(images, self.P)


@answers.right
class ByUnfold(ByLinear):
    def cut(self, images):
        return F.unfold(images, self.P, stride=self.P).mT


@answers.right
class ByEinops(ByLinear):
    def cut(self, images):
        return rearrange(images, "b c (r i) (q j) -> b (r q) (j c i)", i=self.P, j=self.P)


@answers.right
class ByLoops(nn.Module):
    def __init__(self, P, C, D):
        super().__init__()
        self.P = P
        self.E = nn.Parameter(torch.randn(D, P * P * C))
        self.b = nn.Parameter(torch.zeros(D))

    def forward(self, images):
        H, W = images.shape[2:]
        tokens = []
        for top in range(0, H, self.P):
            for left in range(0, W, self.P):
                square = images[:, :, top : top + self.P, left : left + self.P]
                tokens.append(square.flatten(1) @ self.E.T + self.b)
        return torch.stack(tokens, dim=1)


@answers.right
class ByWindows(nn.Module):
    def __init__(self, P, C, D):
        super().__init__()
        self.E = nn.Parameter(torch.zeros(C, P, P, D))

    def forward(self, images):
        P = self.E.shape[1]
        if any(size % P for size in images.shape[2:]):
            raise ValueError("does not fit")
        squares = images.unfold(2, P, P).unfold(3, P, P)  # (B, C, H/P, W/P, P, P)
        return torch.einsum("bcrqij,cijd->brqd", squares, self.E).flatten(1, 2)


@answers.right
def by_sequential(P, C, D):
    return nn.Sequential(Rearrange("b c (r i) (q j) -> b (r q) (i j c)", i=P, j=P), nn.Linear(P * P * C, D))


@answers.wrong("good-size-refused")
class OfOneDataset(PatchEmbedding):
    def forward(self, images):
        assert images.shape[2:] == (224, 224), "224 x 224 expected"
        return super().forward(images)


@answers.wrong("hidden-width-checked")
class HiddenWidthChecked(ByConvolution):
    def __init__(self, patch_size, in_channels, hidden_dim):
        assert hidden_dim % patch_size == 0
        super().__init__(patch_size, in_channels, hidden_dim)


@answers.wrong("hard-coded-size")
class OfTheFirstSize(ByConvolution):
    size = None

    def fit(self, images):
        self.size = self.size or images.shape[2:]
        assert images.shape[2:] == self.size
        return super().fit(images)


@answers.wrong("pixels-dropped")
class CroppedToTheCentre(ByConvolution):
    def fit(self, images):
        H, W = images.shape[2:]
        top, left = H % self.patch_size // 2, W % self.patch_size // 2
        return images[:, :, top:, left:]


@answers.wrong("image-resized")
class Resized(ByConvolution):
    def fit(self, images):
        P = self.patch_size
        H, W = images.shape[2:]
        return F.interpolate(images, (H // P * P, W // P * P))


@answers.wrong("image-filled-up")
class FilledUp(ByConvolution):
    def fit(self, images):
        P = self.patch_size
        H, W = images.shape[2:]
        return F.pad(images, (0, -W % P, 0, -H % P))


@answers.wrong("stride-missing")
class WithoutStride(ByConvolution):
    def __init__(self, patch_size, in_channels, hidden_dim):
        super().__init__(patch_size, in_channels, hidden_dim, stride=1)


@answers.wrong("windows-overlap")
class Overlapping(ByConvolution):
    def __init__(self, patch_size, in_channels, hidden_dim):
        super().__init__(patch_size, in_channels, hidden_dim, stride=patch_size - 1)


@answers.wrong("border-added")
class WithBorder(ByConvolution):
    def __init__(self, patch_size, in_channels, hidden_dim):
        super().__init__(patch_size, in_channels, hidden_dim, padding=patch_size // 2)


@answers.wrong("grid-kept")
class OnGrid(ByConvolution):
    def to_sequence(self, x):
        return x


@answers.wrong("tokens-last")
class TokensLast(ByConvolution):
    def to_sequence(self, x):
        return x.flatten(2)


@answers.wrong("batch-joined")
class BatchJoined(ByConvolution):
    def to_sequence(self, x):
        return x.permute(0, 2, 3, 1).flatten(0, 2)


@answers.wrong("class-token-added")
class WithClassToken(ByConvolution):
    def to_sequence(self, x):
        tokens = super().to_sequence(x)
        return torch.cat([torch.zeros_like(tokens[:, :1]), tokens], dim=1)


@answers.wrong("relu-added")
class WithRelu(ByConvolution):
    def to_sequence(self, x):
        return super().to_sequence(x.relu())


@answers.wrong("random-result")
class WithDropout(ByConvolution):
    def to_sequence(self, x):
        return F.dropout(super().to_sequence(x), 0.5)


@answers.wrong("gradient-cut")
class WithoutGradient(ByConvolution):
    def to_sequence(self, x):
        return super().to_sequence(x.detach())


@answers.wrong("patches-not-alike")
class WithPositions(ByConvolution):
    def to_sequence(self, x):
        tokens = super().to_sequence(x)
        return tokens + torch.arange(tokens.shape[1])[:, None]


@answers.wrong("columns-first")
class ColumnsFirst(ByConvolution):
    def to_sequence(self, x):
        return super().to_sequence(x.mT)


@answers.wrong("bare-reshape")
class TokensReshaped(ByConvolution):
    def to_sequence(self, x):
        return x.reshape(len(x), -1, x.shape[1])


@answers.wrong("bare-reshape")
class UnfoldedAndReshaped(ByLinear):
    def cut(self, images):
        x = F.unfold(images, self.P, stride=self.P)
        return x.reshape(len(x), -1, x.shape[1])


@answers.wrong("patches-by-reshape")
class PatchesByReshape(ByLinear):
    def cut(self, images):
        return images.reshape(len(images), -1, self.linear.in_features)


@answers.wrong("square-images-only")
class OfSquares(ByLinear):
    def cut(self, images):
        B, C, H, _ = images.shape
        return patchify(images.view(B, C, H, H), self.P)


@answers.wrong("one-channel")
class OfGrey(ByLinear):
    def __init__(self, P, C, D):
        super().__init__(P, 1, D)

    def cut(self, images):
        return patchify(images.mean(dim=1, keepdim=True), self.P)


@answers.wrong("no-parameters")
class Untrained(ByLinear):
    def __init__(self, P, C, D):
        super().__init__(P, C, D)
        self.linear.requires_grad_(False)


@answers.wrong("no-matrix")
class BiasAlone(ByLinear):
    def __init__(self, P, C, D):
        super().__init__(P, C, D)
        self.linear.weight.requires_grad_(False)


@answers.wrong("vector-added")
class WithSecondBias(ByConvolution):
    def __init__(self, patch_size, in_channels, hidden_dim):
        super().__init__(patch_size, in_channels, hidden_dim)
        self.bias = nn.Parameter(torch.zeros(hidden_dim))

    def to_sequence(self, x):
        return super().to_sequence(x) + self.bias


@answers.wrong("norms-added")
class WithNorm(ByLinear):
    def __init__(self, P, C, D):
        super().__init__(P, C, D)
        self.linear = nn.Sequential(self.linear, nn.LayerNorm(D))


@answers.wrong(UNKNOWN)
class UpsideDown(ByConvolution):
    def to_sequence(self, x):
        return super().to_sequence(x.flip(2, 3))
