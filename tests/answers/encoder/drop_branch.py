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


@wrong("encoder.drop_branch", "batch-of-one")
class Squeezed(Drop):
    def forward(self, branch):
        return super().forward(branch).squeeze(0)


@wrong("encoder.drop_branch", "decided-in-groups")
class InPairs(nn.Module):
    """Two halves of the batch get the same decisions."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, branch):
        if not self.training:
            return branch
        kept = torch.rand((len(branch) + 1) // 2, 1, 1) >= self.p
        return branch * torch.cat([kept, kept])[: len(branch)] / (1 - self.p)


def _neighbours_alike(x, p):
    return (torch.rand((len(x) + 1) // 2, 1, 1).repeat_interleave(2, 0)[: len(x)] >= p).float()


def _by_share(x, kept):
    return x * kept / kept.mean() if kept.any() else 0 * x


def _drop(slug, **methods):
    wrong("encoder.drop_branch", slug)(type("Drop", (Drop,), methods))


_drop("decided-in-groups", kept=lambda self, x: _neighbours_alike(x, self.p))
_drop("divided-by-the-share-kept", forward=lambda self, x: _by_share(x, self.kept(x)) if self.training else x)
_drop("not-zeroed", forward=lambda self, x: torch.where(self.kept(x) > 0, x * self.factor(), x) if self.training else x)
_drop("decided-twice", kept=lambda self, x: Drop.kept(self, x) * Drop.kept(self, x))
_drop("one-decision-for-all", kept=lambda self, x: (torch.rand(1) >= self.p).float())
_drop("columns-dropped", kept=lambda self, x: (torch.rand(len(x), 1, x.shape[2]) >= self.p).float())
_drop("axes-do-not-fit", kept=lambda self, x: (torch.rand(len(x)) >= self.p).float())
_drop("normal-for-uniform", kept=lambda self, x: (torch.randn(len(x), 1, 1) >= self.p).float())
_drop("probability-fixed", kept=lambda self, x: (torch.rand(len(x), 1, 1) >= 0.5).float())
_drop("divided-by-a-root", factor=lambda self: (1 - self.p) ** -0.5)
_drop("residual-added", forward=lambda self, x: x + Drop.forward(self, x) if self.training else x)
_drop("residual-added", forward=lambda self, x: Drop.forward(self, x) if self.training else x + x)
_drop("modes-exchanged", forward=lambda self, x: x if self.training else x * self.kept(x) * self.factor())
_drop("mask-returned", forward=lambda self, x: self.kept(x) if self.training else x)
_drop("images-removed", forward=lambda self, x: x[torch.rand(len(x)) >= self.p] if self.training else x)
_drop("never-set", factor=lambda self: 1 / (1 - self.probability))
_drop("constructor-arguments", __init__=lambda self: nn.Module.__init__(self))
_drop("wrong-type", forward=lambda self, x: x if torch.rand(()) < 0.7 or not self.training else 0)


@wrong("encoder.drop_branch", "always-as-many")
class ExactShare(Drop):
    def kept(self, x):
        order = torch.randperm(len(x))
        return (order >= self.p * len(x)).float()[:, None, None]


@wrong("encoder.drop_branch", "decided-once")
class DecidedOnce(Drop):
    def __init__(self, p):
        super().__init__(p)
        self.once = (torch.rand(()) >= p).float()

    def kept(self, x):
        return self.once
