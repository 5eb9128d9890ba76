"""Answers to exercise capstone.tokens."""

import torch
from torch import nn

from answers import UNKNOWN, Answers
from vit_course.embeddings import ClassToken, LearnedPositions

answers = Answers("capstone.tokens")

answers.edits(
    ("one-number-a-place", "num_patches + 1, hidden_dim", "num_patches + 1, 1"),
    ("not-added", ") + self.positions", ") * self.positions"),
    ("joined-sizes-differ", "dim=1", "dim=0"),
)


@answers.right
class Package(nn.Sequential):
    def __init__(self, n, width):
        super().__init__(ClassToken(width), LearnedPositions(n + 1, width))


@answers.right
class EachImage(nn.Module):
    def __init__(self, n, width):
        super().__init__()
        self.first = nn.Parameter(torch.zeros(width))
        self.places = nn.Parameter(torch.zeros(n + 1, width))

    def forward(self, x):
        return torch.stack([torch.vstack([self.first, image]) + self.places for image in x])


@answers.right
class Table(nn.Module):
    def __init__(self, n, width):
        super().__init__()
        self.place = nn.Embedding(n + 1, width)
        self.first = nn.Parameter(torch.randn(1, width))

    def forward(self, x):
        x = torch.cat([self.first.repeat(len(x), 1)[:, None], x], 1)
        return x + self.place(torch.arange(x.shape[1]))


class Tokens(nn.Module):
    def __init__(self, num_patches, hidden_dim):
        super().__init__()
        self.class_token = nn.Parameter(0.02 * torch.randn(1, 1, hidden_dim))
        self.positions = nn.Parameter(0.02 * torch.randn(1, num_patches + 1, hidden_dim))

    def first(self, x):
        return self.class_token.expand(len(x), 1, x.shape[2])

    def forward(self, x):
        return torch.cat([self.first(x), x], dim=1) + self.positions


@answers.wrong("class-token-not-learned")
class FixedClassToken(Tokens):
    def __init__(self, num_patches, hidden_dim):
        super().__init__(num_patches, hidden_dim)
        self.class_token.requires_grad_(False)


@answers.wrong("positions-not-learned")
class FixedPositions(Tokens):
    def __init__(self, num_patches, hidden_dim):
        super().__init__(num_patches, hidden_dim)
        self.positions.requires_grad_(False)


@answers.wrong("one-number-as-class-token")
class OneNumber(Tokens):
    def __init__(self, num_patches, hidden_dim):
        super().__init__(num_patches, hidden_dim)
        self.class_token = nn.Parameter(torch.zeros(1, 1, 1))


@answers.wrong("two-vectors")
class OnePosition(Tokens):
    def __init__(self, num_patches, hidden_dim):
        super().__init__(0, hidden_dim)


@answers.wrong("positions-for-patches-only")
class PatchPositions(Tokens):
    def __init__(self, num_patches, hidden_dim):
        super().__init__(num_patches - 1, hidden_dim)

    def forward(self, x):
        return torch.cat([self.first(x), x + self.positions], dim=1)


@answers.wrong("class-token-last")
class ClassTokenLast(Tokens):
    def forward(self, x):
        return torch.cat([x, self.first(x)], dim=1) + self.positions


@answers.wrong("class-token-without-position")
class ClassTokenWithoutPosition(Tokens):
    def forward(self, x):
        return torch.cat([self.first(x), x + self.positions[:, 1:]], dim=1)


@answers.wrong("class-token-from-image")
class ClassTokenFromImage(Tokens):
    def forward(self, x):
        return torch.cat([self.first(x) + x.mean(1, keepdim=True), x], dim=1) + self.positions


@answers.wrong("no-positions")
class OnePositionUsed(Tokens):
    def forward(self, x):
        return torch.cat([self.first(x), x], dim=1) + self.positions[:, :1]


@answers.wrong("not-added")
class Reordered(Tokens):
    def forward(self, x):
        return torch.cat([self.first(x), x.flip(1)], dim=1) + self.positions


@answers.wrong("wrong-behaviour")
class AddedTwice(Tokens):
    def forward(self, x):
        return torch.cat([self.first(x), x + self.positions[:, 1:]], dim=1) + self.positions


@answers.wrong("unused-parameters")
class ClassTokenUnused(Tokens):
    def forward(self, x):
        return torch.cat([torch.zeros(len(x), 1, x.shape[2]), x], dim=1) + self.positions


@answers.wrong(UNKNOWN)
class SpareVectors(Tokens):
    def __init__(self, num_patches, hidden_dim):
        super().__init__(num_patches, hidden_dim)
        self.spare = nn.Parameter(torch.zeros(3, hidden_dim))
