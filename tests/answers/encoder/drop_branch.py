"""Answers to exercise encoder.drop_branch."""

import torch
from torch import nn

from answers import UNKNOWN, Answers

answers = Answers("encoder.drop_branch")

answers.edits(
    ("probability-swapped", ">=", "<"),
    ("normal-for-uniform", "torch.rand(", "torch.randn("),
    ("everything-dropped", "torch.rand(", "torch.zeros("),
    ("nothing-dropped", "torch.rand(", "torch.ones("),
    ("modes-exchanged", "not self.training", "self.training"),
    ("scaled-down", "/ (1", "* (1"),
    ("raised-error", "self.p)", "self.probability)"),
)


class DropBranch(nn.Module):
    """The right module, of which each answer replaces a method."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, branch):
        if not self.training:
            return branch
        return branch * self.kept(branch) / (1 - self.p)

    def kept(self, branch):
        return torch.rand(len(branch), 1, 1) >= self.p


@answers.right
class ByDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.dropout = nn.Dropout(p)

    def forward(self, branch):
        return branch * self.dropout(torch.ones(len(branch), 1, 1))


@answers.right
class Bernoulli(DropBranch):
    def kept(self, branch):
        return torch.empty(len(branch)).bernoulli_(1 - self.p)[:, None, None]


@answers.right
class ImageByImage(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, branch):
        if not self.training:
            return branch
        images = [image / (1 - self.p) if torch.rand(()) > self.p else 0 * image for image in branch]
        return torch.stack(images)


@answers.wrong("numbers-dropped")
class NumbersDropped(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.dropout = nn.Dropout(p)

    def forward(self, branch):
        return self.dropout(branch)


@answers.wrong("tokens-dropped")
class TokensDropped(DropBranch):
    def kept(self, branch):
        return torch.rand(*branch.shape[:2], 1) >= self.p


@answers.wrong("columns-dropped")
class ColumnsDropped(DropBranch):
    def kept(self, branch):
        return torch.rand(len(branch), 1, branch.shape[2]) >= self.p


@answers.wrong("same-for-every-image")
class SameForEveryImage(DropBranch):
    def kept(self, branch):
        return torch.rand(1, *branch.shape[1:]) >= self.p


@answers.wrong("one-decision-for-all")
class OneDecisionForAll(DropBranch):
    def kept(self, branch):
        return torch.rand(()) >= self.p


@answers.wrong("decided-once")
class DecidedOnce(DropBranch):
    def __init__(self, p):
        super().__init__(p)
        self.decision = torch.rand(()) >= p

    def kept(self, branch):
        return self.decision


@answers.wrong("probability-fixed")
class AlwaysAHalf(DropBranch):
    def kept(self, branch):
        return torch.rand(len(branch), 1, 1) >= 0.5


@answers.wrong("always-the-same-images")
class SeedSetInForward(DropBranch):
    def kept(self, branch):
        return torch.rand(len(branch), 1, 1, generator=torch.Generator().manual_seed(0)) >= self.p


@answers.wrong("always-as-many")
class AlwaysAsMany(DropBranch):
    def kept(self, branch):
        return (torch.randperm(len(branch)) >= self.p * len(branch))[:, None, None]


@answers.wrong("decided-in-groups")
class DecidedInPairs(DropBranch):
    def kept(self, branch):
        pairs = torch.rand((len(branch) + 1) // 2, 1, 1) >= self.p
        return pairs.repeat_interleave(2, dim=0)[: len(branch)]


@answers.wrong("not-scaled")
class NotScaled(DropBranch):
    def forward(self, branch):
        return branch * self.kept(branch) if self.training else branch


@answers.wrong("scaled-in-evaluation")
class ScaledInEvaluation(DropBranch):
    def forward(self, branch):
        return branch * self.kept(branch) if self.training else branch * (1 - self.p)


@answers.wrong("drops-in-evaluation")
class DropsInEvaluation(DropBranch):
    def forward(self, branch):
        return branch * self.kept(branch) / (1 - self.p)


@answers.wrong("divided-by-p")
class DividedByP(DropBranch):
    def forward(self, branch):
        return branch * self.kept(branch) / self.p if self.training else branch


@answers.wrong("divided-by-a-root")
class DividedByARoot(DropBranch):
    def forward(self, branch):
        return branch * self.kept(branch) / (1 - self.p) ** 0.5 if self.training else branch


@answers.wrong("divided-by-the-share-kept")
class DividedByTheShareKept(DropBranch):
    def forward(self, branch):
        if not self.training:
            return branch
        kept = self.kept(branch)
        return branch * kept / kept.float().mean().clamp(min=0.1)


@answers.wrong("residual-added")
class ResidualAdded(DropBranch):
    def forward(self, branch):
        return branch + super().forward(branch) if self.training else branch


@answers.wrong("residual-added")
class ResidualAddedInEvaluation(DropBranch):
    def forward(self, branch):
        return branch + super().forward(branch)


@answers.wrong("gradient-cut")
class GradientCutInTraining(DropBranch):
    def forward(self, branch):
        return super().forward(branch.detach() if self.training else branch)


@answers.wrong("gradient-cut")
class GradientCutInEvaluation(DropBranch):
    def forward(self, branch):
        return super().forward(branch if self.training else branch.detach())


@answers.wrong("parameters-too-many")
class LearnedProbability(DropBranch):
    def __init__(self, p):
        super().__init__(p)
        self.p = nn.Parameter(torch.tensor(p))


@answers.wrong("parameters-too-many")
class LearnedScale(DropBranch):
    def __init__(self, p):
        super().__init__(p)
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, branch):
        return self.scale * super().forward(branch)


@answers.wrong(UNKNOWN)
class AnotherFactor(DropBranch):
    def forward(self, branch):
        return branch * self.kept(branch) / 0.27 if self.training else branch
