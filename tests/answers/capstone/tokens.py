"""Answers to exercise capstone.tokens."""

import torch
from torch import nn

from answers import right, unforeseen, wrong
from vit_course.embeddings import ClassToken, LearnedPositions


@right("capstone.tokens")
class FromPackage(nn.Sequential):
    def __init__(self, n, width):
        super().__init__(ClassToken(width), LearnedPositions(n + 1, width))


@right("capstone.tokens")
class ZeroStart(nn.Module):
    def __init__(self, n, width):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(n + 1, width))

    def forward(self, x):
        return torch.stack([torch.vstack([self.a, image]) + self.b for image in x])


@right("capstone.tokens")
class Table(nn.Module):
    def __init__(self, n, width):
        super().__init__()
        self.place, self.first = nn.Embedding(n + 1, width), nn.Parameter(torch.randn(1, width))

    def forward(self, x):
        x = torch.cat([self.first.repeat(len(x), 1)[:, None], x], 1)
        return x + self.place(torch.arange(x.shape[1]))


class Tokens(nn.Module):
    rows = 1

    def __init__(self, n, width):
        super().__init__()
        self.c, self.p = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.zeros(1, n + self.rows, width))

    def forward(self, x):
        return torch.cat([self.c.expand(len(x), -1, -1), x], 1) + self.p


right("capstone.tokens")(Tokens)


@wrong("capstone.tokens", "class-token-last")
class Last(Tokens):
    def forward(self, x):
        return torch.cat([x, self.c.expand(len(x), -1, -1)], 1) + self.p


@wrong("capstone.tokens", "positions-for-patches-only")
class PatchesOnly(Tokens):
    rows = 0

    def forward(self, x):
        return torch.cat([self.c.expand(len(x), -1, -1), x + self.p], 1)


@wrong("capstone.tokens", "class-token-without-position")
class After(Tokens):
    def forward(self, x):
        return torch.cat([self.c.expand(len(x), -1, -1), x + self.p[:, 1:]], 1)


@wrong("capstone.tokens", "positions-not-learned")
class Fixed(Tokens):
    def __init__(self, n, width):
        super().__init__(n, width)
        del self.p
        self.p = torch.randn(1, n + 1, width)


@wrong("capstone.tokens", "no-positions")
class OnePosition(Tokens):
    def forward(self, x):
        return torch.cat([self.c.expand(len(x), -1, -1), x], 1) + self.p[:, :1]


@wrong("capstone.tokens", "not-added")
class Multiplied(Tokens):
    def forward(self, x):
        return torch.cat([self.c.expand(len(x), -1, -1), x], 1) * self.p


@wrong("capstone.tokens", "class-token-from-image")
class MeanAsClassToken(Tokens):
    def forward(self, x):
        return torch.cat([self.c + x.mean(1, keepdim=True), x], 1) + self.p


@wrong("capstone.tokens", "one-image-only")
class SizedByBatch(nn.Module):
    def __init__(self, n, width):
        super().__init__()
        self.c, self.p = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.zeros(1, n + 1, width))

    def forward(self, x):
        return torch.cat([self.c, x], 1) + self.p


@unforeseen("capstone.tokens")
class TwoTables(Tokens):
    def __init__(self, n, width):
        super().__init__(n, width)
        self.more = nn.Parameter(torch.zeros(1, 3, width))


@wrong("capstone.tokens", "no-class-token")
class PositionsAlone(Tokens):
    def forward(self, x):
        return x + self.p[:, 1:] + 0 * self.c


@wrong("capstone.tokens", "batch-of-one")
class Squeezed(Tokens):
    def forward(self, x):
        return super().forward(x).squeeze()


@wrong("capstone.tokens", "random-result")
class DropoutLeftOn(Tokens):
    def forward(self, x):
        return nn.functional.dropout(super().forward(x), 0.1)


@wrong("capstone.tokens", "a-row-too-many")
class SpareVector(Tokens):
    def __init__(self, n, width):
        super().__init__(n, width)
        self.spare = nn.Parameter(torch.zeros(width))


@wrong("capstone.tokens", "gradient-cut")
class Detached(Tokens):
    def forward(self, x):
        return torch.cat([self.c.detach().expand(len(x), -1, -1), x], 1) + self.p


def _joined(mistake):
    def register(forward):
        return wrong("capstone.tokens", mistake)(type(forward.__name__, (Tokens,), {"forward": forward}))

    return register


@_joined("a-position-too-few")
def last_position_left_out(self, x):
    return torch.cat([self.c.expand(len(x), -1, -1), x], 1) + self.p[:, :-1]


@_joined("patches-reordered")
def backwards(self, x):
    return torch.cat([self.c.expand(len(x), -1, -1), x.flip(1)], 1) + self.p


@_joined("position-twice")
def positions_before_and_after(self, x):
    return torch.cat([self.c.expand(len(x), -1, -1), x + self.p[:, 1:]], 1) + self.p


@wrong("capstone.tokens", "two-vectors")
class OnePositionForAll(Tokens):
    def __init__(self, n, width):
        super().__init__(0, width)


@_joined("class-token-added")
def class_token_added_to_patches(self, x):
    return torch.cat([self.c.expand(len(x), -1, -1), x + self.c], 1) + self.p


@_joined("joined-along-another-axis")
def joined_along_the_width(self, x):
    return torch.cat([self.c.expand(len(x), -1, -1), x], 2) + self.p


@_joined("joined-along-another-axis")
def joined_along_the_batch(self, x):
    return torch.cat([self.c, x], 0) + self.p


@_joined("gradient-cut")
def patches_detached(self, x):
    return torch.cat([self.c.expand(len(x), -1, -1), x.detach()], 1) + self.p


@wrong("capstone.tokens", "a-token-too-many")
class TwoClassTokens(Tokens):
    def __init__(self, n, width):
        super().__init__(n + 1, width)

    def forward(self, x):
        class_token = self.c.expand(len(x), -1, -1)
        return torch.cat([class_token, class_token, x], 1) + self.p


@wrong("capstone.tokens", "class-token-not-learned")
class ClassTokenAsBuffer(Tokens):
    def __init__(self, n, width):
        super().__init__(n, width)
        c = self.c.detach()
        del self.c
        self.register_buffer("c", c)


@wrong("capstone.tokens", "one-number-as-class-token")
class OneNumber(Tokens):
    def __init__(self, n, width):
        super().__init__(n, width)
        self.c = nn.Parameter(torch.zeros(1, 1, 1))

    def forward(self, x):
        return torch.cat([self.c.expand(len(x), 1, x.shape[2]), x], 1) + self.p
