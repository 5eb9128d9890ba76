"""Answers to exercise patchify.embedding."""

import torch
import torch.nn.functional as F
from einops import rearrange
from einops.layers.torch import Rearrange
from torch import nn

from answers import right, unforeseen, wrong
from answers.patchify.shared import fitting, ordered, split_swapped
from vit_course import patches as package


class Variant(nn.Module):
    """A right one with holes for mistakes."""

    bias = True

    def __init__(self, patch_size, in_channels, hidden_dim):
        super().__init__()
        self.P, self.C, self.D = patch_size, in_channels, hidden_dim
        self.make()

    def make(self):
        self.linear = nn.Linear(self.P * self.P * self.C, self.D, bias=self.bias)

    def cut(self, images):
        return package.patchify(images, self.P)

    def forward(self, images):
        return self.linear(self.cut(images))


right("patchify.embedding")(package.PatchEmbedding)
right("patchify.embedding")(Variant)


@right("patchify.embedding")
class WithoutBias(Variant):
    bias = False


@right("patchify.embedding")
class OwnOrder(Variant):
    def cut(self, images):
        P = self.P
        return rearrange(images, "b c (r i) (q j) -> b (r q) (j c i)", i=P, j=P)


@right("patchify.embedding")
class Unfolded(Variant):
    def cut(self, images):
        assert images.shape[2] % self.P == 0
        assert images.shape[3] % self.P == 0
        return F.unfold(images, self.P, stride=self.P).mT


@right("patchify.embedding")
class Raw(nn.Module):
    def __init__(self, P, C, D):
        super().__init__()
        self.E = nn.Parameter(torch.zeros(C, P, P, D))

    def forward(self, images):
        P = self.E.shape[1]
        if any(size % P for size in images.shape[2:]):
            raise ValueError("does not fit")
        squares = images.unfold(2, P, P).unfold(3, P, P)  # (B, C, H/P, W/P, P, P)
        return torch.einsum("bcrqij,cijd->brqd", squares, self.E).flatten(1, 2)


@right("patchify.embedding")
class Loops(nn.Module):
    def __init__(self, P, C, D):
        super().__init__()
        self.P, self.E, self.b = P, nn.Parameter(torch.randn(D, P * P * C)), nn.Parameter(torch.zeros(D))

    def forward(self, images):
        H, W = images.shape[2:]
        tokens = []
        for top in range(0, H, self.P):
            for left in range(0, W, self.P):
                square = images[:, :, top : top + self.P, left : left + self.P]
                tokens.append(square.flatten(1) @ self.E.T + self.b)
        return torch.stack(tokens, dim=1)


@right("patchify.embedding")
def from_sequential(P, C, D):
    return nn.Sequential(Rearrange("b c (r i) (q j) -> b (r q) (i j c)", i=P, j=P), nn.Linear(P * P * C, D))


@right("patchify.embedding")
class PaddedConvolution(nn.Module):
    def __init__(self, P, C, D):
        super().__init__()
        self.P, self.conv = P, nn.LazyConv2d(D, P, P)

    def forward(self, images):
        fitting(*images.shape[2:], self.P)
        return rearrange(self.conv(images), "b d r q -> b (r q) d")


class Convolved(Variant):
    """A convolution with holes for mistakes."""

    window, step, padding = staticmethod(lambda P: P), staticmethod(lambda P: P), staticmethod(lambda P: 0)
    refuses = True

    def make(self):
        P = self.P
        self.conv = nn.Conv2d(self.C, self.D, self.window(P), self.step(P), self.padding(P), bias=self.bias)

    def tokens(self, picture):
        return picture.flatten(2).transpose(1, 2)

    def forward(self, images):
        if self.refuses:
            fitting(*images.shape[2:], self.P)
        return self.tokens(self.conv(images))


right("patchify.embedding")(Convolved)


@wrong("patchify.embedding", "pixels-dropped")
class Quiet(Convolved):
    refuses = False


@wrong("patchify.embedding", "pixels-dropped")
class QuietInOneDirection(Convolved):
    refuses = False

    def forward(self, images):
        fitting(images.shape[2], self.P, self.P)
        return super().forward(images)


@wrong("patchify.embedding", "bare-reshape")
class Reshaped(Convolved):
    def tokens(self, picture):
        return picture.reshape(len(picture), -1, self.D)


@wrong("patchify.embedding", "stride-missing")
class NoStride(Convolved):
    step = staticmethod(lambda P: 1)


@wrong("patchify.embedding", "windows-overlap")
class SmallStep(Convolved):  # as many tokens as there are patches in the first images that are tried
    step = staticmethod(lambda P: P - 1)


@wrong("patchify.embedding", "windows-overlap")
class HalfStep(Convolved):
    step = staticmethod(lambda P: P // 2)


@wrong("patchify.embedding", "window-not-patch")
class Overlapping(Convolved):
    window, padding = staticmethod(lambda P: 3 * P), staticmethod(lambda P: P)


@wrong("patchify.embedding", "window-not-patch")
class Wide(Convolved):
    window, padding = staticmethod(lambda P: 2 * P), staticmethod(lambda P: P // 2)


@wrong("patchify.embedding", "picture-kept")
class Picture(Convolved):
    def tokens(self, picture):
        return picture


@wrong("patchify.embedding", "grid-kept")
class Grid(Convolved):
    def tokens(self, picture):
        return picture.permute(0, 2, 3, 1)


@wrong("patchify.embedding", "tokens-last")
class NotTransposed(Convolved):
    def tokens(self, picture):
        return picture.flatten(2)


@wrong("patchify.embedding", "tokens-before-batch")
class TokensFirst(Convolved):
    def tokens(self, picture):
        return picture.flatten(2).permute(2, 0, 1)


@wrong("patchify.embedding", "batch-joined")
class OneAxis(Convolved):
    def tokens(self, picture):
        return picture.permute(0, 2, 3, 1).reshape(-1, self.D)


@wrong("patchify.embedding", "columns-first")
class ColumnByColumn(Convolved):
    def tokens(self, picture):
        return picture.transpose(2, 3).flatten(2).transpose(1, 2)


@wrong("patchify.embedding", "batch-mates-matter")
class BatchMixed(Convolved):
    def tokens(self, picture):
        return picture.flatten(2).permute(2, 0, 1).reshape(len(picture), -1, self.D)


@wrong("patchify.embedding", "relu-added")
class Relu(Convolved):
    def tokens(self, picture):
        return super().tokens(picture).relu()


@wrong("patchify.embedding", "relu-added")
class ReluWithoutBias(Relu):
    bias = False


@wrong("patchify.embedding", "not-linear")
class Gelu(Convolved):
    def tokens(self, picture):
        return F.gelu(super().tokens(picture))


@wrong("patchify.embedding", "not-linear")
class Normed(Convolved):
    def tokens(self, picture):
        return F.layer_norm(super().tokens(picture), (self.D,))


@wrong("patchify.embedding", "norms-added")
class DualNorm(Variant):
    def make(self):
        super().make()
        self.before, self.after = nn.LayerNorm(self.P * self.P * self.C), nn.LayerNorm(self.D)

    def forward(self, images):
        return self.after(self.linear(self.before(self.cut(images))))


@wrong("patchify.embedding", "norms-added")
class NormAfter(Variant):
    def make(self):
        super().make()
        self.after = nn.LayerNorm(self.D)

    def forward(self, images):
        return self.after(super().forward(images))


@wrong("patchify.embedding", "patches-by-reshape")
class CutByReshape(Variant):
    def cut(self, images):
        fitting(*images.shape[2:], self.P)
        return images.reshape(len(images), -1, self.P**2 * self.C)


@wrong("patchify.embedding", "strips")
class CutChannelsLast(Variant):
    def cut(self, images):
        fitting(*images.shape[2:], self.P)
        return images.permute(0, 2, 3, 1).reshape(len(images), -1, self.P**2 * self.C)


@wrong("patchify.embedding", "strips")
class Strips(Variant):
    def cut(self, images):
        return ordered((0, 2, 3, 4, 5, 1))(images, self.P)


@wrong("patchify.embedding", "split-swapped")
class SplitSwapped(Variant):
    def cut(self, images):
        return split_swapped(images, self.P)


@wrong("patchify.embedding", "not-projected")
class NotProjected(Variant):
    def forward(self, images):
        return self.cut(images)


@wrong("patchify.embedding", "class-token-added")
class WithClassToken(Convolved):
    def tokens(self, picture):
        tokens = super().tokens(picture)
        return torch.cat([torch.zeros_like(tokens[:, :1]), tokens], dim=1)


@wrong("patchify.embedding", "one-channel")
class Grey(Variant):
    def make(self):
        self.linear = nn.Linear(self.P * self.P, self.D)

    def cut(self, images):
        return package.patchify(images.mean(1, keepdim=True), self.P)


@wrong("patchify.embedding", "no-parameters")
class PlainList(Variant):
    def make(self):
        self.layers = [nn.Linear(self.P * self.P * self.C, self.D)]

    def forward(self, images):
        return self.layers[0](self.cut(images))


@wrong("patchify.embedding", "no-parameters")
class PlainTensor(Variant):
    def make(self):
        self.E = torch.randn(self.P * self.P * self.C, self.D)

    def forward(self, images):
        return self.cut(images) @ self.E


@wrong("patchify.embedding", "no-parameters")
class MadeInForward(Variant):
    def make(self):
        pass

    def forward(self, images):
        return nn.Linear(self.P * self.P * self.C, self.D)(self.cut(images))


@wrong("patchify.embedding", "no-matrix")
class OnlyBias(PlainTensor):
    def make(self):
        super().make()
        self.b = nn.Parameter(torch.zeros(self.D))

    def forward(self, images):
        return super().forward(images) + self.b


@wrong("patchify.embedding", "weights-not-shared")
class OneMatrixEach(Variant):
    def make(self):
        self.layers = nn.ModuleList()

    def forward(self, images):
        patches = self.cut(images)
        while len(self.layers) < patches.shape[1]:
            self.layers.append(nn.Linear(self.P * self.P * self.C, self.D))
        return torch.stack([layer(patches[:, n]) for n, layer in enumerate(self.layers)], dim=1)


@wrong("patchify.embedding", "one-matrix-for-the-image")
class WholeImage(Variant):
    def make(self):
        self.linear = None

    def forward(self, images):
        patches = self.cut(images)
        if self.linear is None:
            self.linear = nn.Linear(images[0].numel(), patches.shape[1] * self.D)
        return self.linear(images.flatten(1)).unflatten(1, (-1, self.D))


@wrong("patchify.embedding", "hidden-width-checked")
class WidthChecked(Convolved):
    def make(self):
        if self.D % self.P:
            raise ValueError("the patch size must divide the image size")
        super().make()


@wrong("patchify.embedding", "hard-coded-size")
class FirstSizeOnly(Convolved):
    seen = None

    def forward(self, images):
        self.seen = self.seen or images.shape[2:]
        assert images.shape[2:] == self.seen
        return super().forward(images)


@wrong("patchify.embedding", "random-result")
class Dropped(Convolved):
    def tokens(self, picture):
        return F.dropout(super().tokens(picture), 0.5)


@wrong("patchify.embedding", "gradient-cut")
class NoGrad(Convolved):
    def tokens(self, picture):
        return super().tokens(picture).detach()


@wrong("patchify.embedding", "pixels-ignored")
class Cropped(Convolved):
    def forward(self, images):
        images = images.clone()
        images[:, :, -1] = 0
        return super().forward(images)


@wrong("patchify.embedding", "patches-not-alike")
class WithPositions(Convolved):
    def tokens(self, picture):
        tokens = super().tokens(picture)
        return tokens + torch.arange(tokens.shape[1])[:, None]


@wrong("patchify.embedding", "patches-not-alike")
class GrowingWeights(Convolved):
    bias = False

    def tokens(self, picture):
        tokens = super().tokens(picture)
        return tokens * (1 + torch.arange(tokens.shape[1]))[:, None]


@wrong("patchify.embedding", "no-super-init")
class NoSuper(nn.Module):
    def __init__(self, P, C, D):
        self.conv = nn.Conv2d(C, D, P, P)


@wrong("patchify.embedding", "unused-parameters")
class Unused(Convolved):
    def make(self):
        super().make()
        self.bias_of_mine = self.conv.bias
        self.conv = nn.Conv2d(self.C, self.D, self.P, self.P, bias=False)


@unforeseen("patchify.embedding")
class Reversed(Convolved):
    def tokens(self, picture):
        return super().tokens(picture).flip(1)


@unforeseen("patchify.embedding")
class Averaged(Convolved):
    def tokens(self, picture):
        tokens = super().tokens(picture)
        return tokens + tokens.mean(1, keepdim=True)


@wrong("patchify.embedding", "image-filled-up")
class Padded(Convolved):
    refuses = False

    def forward(self, images):
        H, W = images.shape[2:]
        return super().forward(F.pad(images, (0, -W % self.P, 0, -H % self.P)))


@unforeseen("patchify.embedding")
class TwoLayers(Convolved):
    def make(self):
        super().make()
        self.more = nn.Linear(self.D, self.D)

    def tokens(self, picture):
        return self.more(super().tokens(picture))


@unforeseen("patchify.embedding")
class Pooled(Convolved):
    def tokens(self, picture):
        return super().tokens(picture).mean(1)


@wrong("patchify.embedding", "pixels-dropped")
class AreaOnly(Convolved):
    """Refuses by the area: 6 x 8 at P = 4 has one of whole patches."""

    refuses = False

    def forward(self, images):
        if images[0, 0].numel() % self.P**2:
            raise ValueError("does not fit")
        return super().forward(images)


@wrong("patchify.embedding", "batch-of-one")
class Squeezed(Convolved):
    def forward(self, images):
        return super().forward(images).squeeze()
