"""Answers to exercise encoder.drop_branch."""

import torch
import torch.nn.functional as F
from torch import nn

from answers import right, unforeseen, wrong


class Drop(nn.Module):
    """The right one, and the base of the wrong ones."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def kept(self, x):
        return (torch.rand(len(x), 1, 1) >= self.p).to(x.dtype)

    def factor(self):
        return 1 / (1 - self.p)

    def forward(self, x):
        return x * self.kept(x) * self.factor() if self.training else x


right("encoder.drop_branch")(Drop)


@right("encoder.drop_branch")
class ByDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.dropout = nn.Dropout(p)

    def forward(self, x):
        return x * self.dropout(torch.ones(len(x), 1, 1))


@right("encoder.drop_branch")
class ByBernoulli(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        mask = torch.empty(len(x)).bernoulli_(1 - self.p)
        return x * mask[:, None, None] / (1 - self.p)


@wrong("encoder.drop_branch", "numbers-dropped")
class Numbers(Drop):
    def kept(self, x):
        return (torch.rand_like(x) >= self.p).float()


wrong("encoder.drop_branch", "numbers-dropped")(nn.Dropout)


@wrong("encoder.drop_branch", "tokens-dropped")
class Tokens(Drop):
    def kept(self, x):
        return (torch.rand(*x.shape[:2], 1) >= self.p).float()


@wrong("encoder.drop_branch", "same-for-every-image")
class Places(Drop):
    def kept(self, x):
        found = (torch.rand(1, *x.shape[1:]) >= self.p).float()
        found[0, 0, 0], found[0, 0, 1] = 0, 1
        return found


@wrong("encoder.drop_branch", "probability-swapped")
class Swapped(Drop):
    def kept(self, x):
        return (torch.rand(len(x), 1, 1) < self.p).float()


@wrong("encoder.drop_branch", "not-scaled")
class NotScaled(Drop):
    def factor(self):
        return 1


@wrong("encoder.drop_branch", "scaled-down")
class ScaledDown(Drop):
    def factor(self):
        return 1 - self.p


@wrong("encoder.drop_branch", "divided-by-p")
class DividedByP(Drop):
    def factor(self):
        return 1 / self.p


@wrong("encoder.drop_branch", "drops-in-evaluation")
class Always(Drop):
    def forward(self, x):
        return x * self.kept(x) * self.factor()


@wrong("encoder.drop_branch", "drops-in-evaluation")
class Functional(Drop):
    def forward(self, x):
        return x * F.dropout(torch.ones(len(x), 1, 1), self.p)


@wrong("encoder.drop_branch", "scaled-in-evaluation")
class ScaledInEvaluation(Drop):
    def forward(self, x):
        return x * (self.kept(x) if self.training else 1 - self.p)


@wrong("encoder.drop_branch", "nothing-dropped")
class Nothing(Drop):
    def kept(self, x):
        return torch.ones(1)


@wrong("encoder.drop_branch", "everything-dropped")
class Everything(Drop):
    def kept(self, x):
        return torch.zeros(1)


@wrong("encoder.drop_branch", "always-the-same-images")
class Fixed(Drop):
    def kept(self, x):
        return (torch.rand(len(x), 1, 1, generator=torch.Generator().manual_seed(0)) >= self.p).float()


@wrong("encoder.drop_branch", "gradient-cut")
class Cut(Drop):
    def forward(self, x):
        return super().forward(x.detach())


@wrong("encoder.drop_branch", "wrong-shape")
class Sliced(Drop):
    def forward(self, x):
        return super().forward(x)[:, :1]


@unforeseen("encoder.drop_branch")
class Squared(Drop):
    def factor(self):
        return 3.7


@unforeseen("encoder.drop_branch")
class Rarely(Drop):
    def kept(self, x):
        return (torch.rand(len(x), 1, 1) >= self.p / 3).float()
