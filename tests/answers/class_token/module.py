"""Answers to exercise class_token.module."""

import torch
from torch import nn

from answers import UNKNOWN, Answers
from vit_course.embeddings import ClassToken

answers = Answers("class_token.module")
(Faulty,) = answers.given("Faulty")

answers.edits(
    ("returned-nothing", "return ", ""),
)

answers.right(ClassToken)


@answers.right
class Embedding(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.words = nn.Embedding(1, hidden_dim)

    def forward(self, x):
        return torch.cat([self.words(torch.zeros(len(x), 1, dtype=torch.long)), x], dim=1)


@answers.right
class Written(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.token = nn.Parameter(torch.randn(1, hidden_dim))

    def forward(self, x):
        z = x.new_empty(len(x), 1 + x.shape[1], x.shape[2])
        z[:, 0] = self.token
        z[:, 1:] = x
        return z


answers.wrong("still-faulty")(Faulty)


@answers.wrong("last-patch-lost")
class StillOverwritten(Faulty):
    def __init__(self, hidden_dim):
        super().__init__(hidden_dim)
        self.token = nn.Parameter(0.02 * torch.randn(1, 1, hidden_dim))


@answers.wrong("nothing-to-learn")
class StillNoParameter(Faulty):
    def forward(self, x):
        return torch.cat([self.token.expand(len(x), -1, -1), x], dim=1)


class WithToken(nn.Module):
    """The constructor of the wrong answers below."""

    def __init__(self, hidden_dim):
        super().__init__()
        self.token = nn.Parameter(0.02 * torch.randn(1, 1, hidden_dim))


@answers.wrong("token-not-used")
class TokenNotUsed(WithToken):
    def forward(self, x):
        return torch.cat([torch.zeros_like(x[:, :1]), x], dim=1)


@answers.wrong("token-drawn-anew")
class TokenDrawnAnew(WithToken):
    def forward(self, x):
        class_token = torch.randn_like(self.token).expand(len(x), -1, -1)
        return torch.cat([class_token, x], dim=1)


@answers.wrong("token-gradient-cut")
class TokenGradientCut(WithToken):
    def forward(self, x):
        return torch.cat([self.token.data.expand(len(x), -1, -1), x], dim=1)


@answers.wrong("patch-gradient-cut")
class PatchGradientCut(WithToken):
    def forward(self, x):
        return torch.cat([self.token.expand(len(x), -1, -1), x.detach()], dim=1)


@answers.wrong("appended-last")
class AppendedLast(WithToken):
    def forward(self, x):
        return torch.cat([x, self.token.expand(len(x), -1, -1)], dim=1)


@answers.wrong("first-patch-lost")
class FirstPatchLost(WithToken):
    def forward(self, x):
        z = torch.cat([self.token.expand(len(x), -1, -1), x], dim=1)
        z[:, 1] = self.token
        return z


@answers.wrong("patches-reversed")
class PatchesReversed(WithToken):
    def forward(self, x):
        return torch.cat([self.token.expand(len(x), -1, -1), x.flip(1)], dim=1)


@answers.wrong("added-to-every-patch")
class AddedToEveryPatch(WithToken):
    def forward(self, x):
        return torch.cat([self.token.expand(len(x), -1, -1), x + self.token], dim=1)


@answers.wrong("one-number")
class OneNumber(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return torch.cat([self.token.expand(len(x), 1, x.shape[2]), x], dim=1)


@answers.wrong(UNKNOWN)
class PatchesDoubled(WithToken):
    def forward(self, x):
        return torch.cat([self.token.expand(len(x), -1, -1), 2 * x], dim=1)
