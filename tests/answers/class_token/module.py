"""Answers to exercise class_token.module."""

import torch
from torch import nn

from answers import right, unforeseen, wrong
from vit_course.embeddings import ClassToken


@right("class_token.module")
class Finished(ClassToken):
    pass


@right("class_token.module")
class OneAxis(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.cls = nn.Parameter(torch.zeros(hidden_dim))

    def forward(self, x):
        return torch.cat([self.cls.repeat(x.shape[0], 1, 1), x], dim=1)


@right("class_token.module")
class FromEmbedding(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.words = nn.Embedding(1, hidden_dim)

    def forward(self, x):
        return torch.cat([self.words(torch.zeros(len(x), 1, dtype=torch.long)), x], dim=1)


@right("class_token.module")
class FromBias(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.token = nn.Linear(1, hidden_dim, bias=False)

    def forward(self, x):
        return torch.cat([self.token(x.new_ones(len(x), 1, 1)), x], dim=1)


@right("class_token.module")
class Written(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.register_parameter("t", nn.Parameter(torch.randn(1, hidden_dim)))

    def forward(self, x):
        z = x.new_empty(len(x), 1 + x.shape[1], x.shape[2])
        z[:, 0], z[:, 1:] = self.t, x
        return z


class Variant(nn.Module):
    """Right as it stands; each wrong answer changes one thing."""

    def __init__(self, hidden_dim):
        super().__init__()
        self.token = self.make(hidden_dim)

    def make(self, hidden_dim):
        return nn.Parameter(0.02 * torch.randn(1, 1, hidden_dim))

    def spread(self, x):
        return self.token.expand(len(x), -1, x.shape[2])

    def join(self, token, x):
        return torch.cat([token, x], dim=1)

    def forward(self, x):
        return self.join(self.spread(x), x)


right("class_token.module")(Variant)


@wrong("class_token.module", "appended-last")
class Behind(Variant):
    def join(self, token, x):
        return torch.cat([x, token], dim=1)


@wrong("class_token.module", "last-patch-lost")  # one of the two faults of the exercise
class Overwritten(Variant):
    def join(self, token, x):
        z = x.new_zeros(len(x), 1 + x.shape[1], x.shape[2])
        z[:, 1:] = x
        z[:, -1] = token[:, 0]
        return z


@wrong("class_token.module", "nothing-to-learn")  # the other fault
class NoParameter(Variant):
    def make(self, hidden_dim):
        return torch.full((1, 1, hidden_dim), -1.0, requires_grad=True)


@wrong("class_token.module", "last-patch-lost")  # the exercise's class as it is given
class AsGiven(NoParameter, Overwritten):
    pass


@wrong("class_token.module", "first-patch-lost")
class FirstLost(Variant):
    def join(self, token, x):
        z = x.new_zeros(len(x), 1 + x.shape[1], x.shape[2])
        z[:, 1:] = x
        z[:, :2] = token
        return z


@wrong("class_token.module", "patches-reversed")
class Flipped(Variant):
    def join(self, token, x):
        return torch.cat([x, token], dim=1).flip(1)


@wrong("class_token.module", "nothing-to-learn")
class Buffer(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.register_buffer("token", torch.randn(1, 1, hidden_dim))

    def forward(self, x):
        return torch.cat([self.token.expand(len(x), -1, -1), x], dim=1)


@wrong("class_token.module", "nothing-to-learn")
class Frozen(Variant):
    def make(self, hidden_dim):
        return nn.Parameter(torch.zeros(1, 1, hidden_dim), requires_grad=False)


@wrong("class_token.module", "nothing-to-learn")
class InAList(Variant):
    def make(self, hidden_dim):
        return [nn.Parameter(torch.zeros(1, 1, hidden_dim))]

    def spread(self, x):
        return self.token[0].expand(len(x), -1, -1)


@wrong("class_token.module", "one-number")
class OneNumber(Variant):
    def make(self, hidden_dim):
        return nn.Parameter(torch.zeros(1, 1, 1))


@wrong("class_token.module", "wrong-parameters")
class TwoVectors(Variant):
    def make(self, hidden_dim):
        self.more = nn.Parameter(torch.zeros(hidden_dim))
        return super().make(hidden_dim)

    def spread(self, x):
        return super().spread(x) + self.more


@wrong("class_token.module", "one-batch-size")
class NotExpanded(Variant):
    def spread(self, x):
        return self.token


@wrong("class_token.module", "one-batch-size")
class ForSixtyFour(NotExpanded):
    def make(self, hidden_dim):
        return nn.Parameter(torch.zeros(64, 1, hidden_dim))


@wrong("class_token.module", "one-batch-size")
class SizedByTheFirstBatch(Variant):
    def make(self, hidden_dim):
        return None

    def spread(self, x):
        if self.token is None:
            self.token = nn.Parameter(torch.zeros(len(x), 1, x.shape[2]))
        return self.token


@wrong("class_token.module", "token-for-each-place")
class LargestBatch(ForSixtyFour):
    def spread(self, x):
        return self.token[: len(x)]


@wrong("class_token.module", "token-from-the-image")
class MeanInFront(Variant):
    def spread(self, x):
        return self.token + x.mean(dim=1, keepdim=True)


@wrong("class_token.module", "token-drawn-anew")
class Anew(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.hidden_dim = hidden_dim

    def forward(self, x):
        return torch.cat([torch.randn(1, 1, self.hidden_dim).expand(len(x), -1, -1), x], dim=1)


@wrong("class_token.module", "no-longer-sequence")
class Added(Variant):
    def join(self, token, x):
        return x + token


@wrong("class_token.module", "token-gradient-cut")
class AsData(Variant):
    def spread(self, x):
        return self.token.data.expand(len(x), -1, -1)


@wrong("class_token.module", "patch-gradient-cut")
class PatchesDetached(Variant):
    def join(self, token, x):
        return torch.cat([token, x.detach()], dim=1)


@wrong("class_token.module", "gradient-cut")
class NoGrad(Variant):
    @torch.no_grad()
    def forward(self, x):
        return super().forward(x)


@wrong("class_token.module", "unused-parameters")
class OnlyTheFirst(Variant):
    def spread(self, x):
        return self.token[:, :, :1].expand(len(x), -1, x.shape[2])


@wrong("class_token.module", "input-changed")
class InPlace(Variant):
    def join(self, token, x):
        x[:, :1] += token
        return torch.cat([token, x], dim=1)


@wrong("class_token.module", "no-super-init")
class NoSuper(nn.Module):
    def __init__(self, hidden_dim):
        self.token = nn.Parameter(torch.zeros(1, 1, hidden_dim))


@wrong("class_token.module", "returned-nothing")
class NoReturn(Variant):
    def forward(self, x):
        self.join(self.spread(x), x)


@unforeseen("class_token.module")
class Doubled(Variant):
    def join(self, token, x):
        return torch.cat([token, 2 * x], dim=1)


@unforeseen("class_token.module")
class InFrontTwice(Variant):
    def join(self, token, x):
        return torch.cat([token, token, x], dim=1)


@unforeseen("class_token.module")
class WithHead(Variant):
    def __init__(self, hidden_dim):
        super().__init__(hidden_dim)
        self.head = nn.Linear(hidden_dim, 10)


@wrong("class_token.module", "other-in-evaluation")
class ScaledInEvaluation(Variant):
    def spread(self, x):
        return super().spread(x) * (1.0 if self.training else 0.5)


@wrong("class_token.module", "batch-of-one")
class Squeezed(Variant):
    def forward(self, x):
        return super().forward(x).squeeze()


@wrong("class_token.module", "patches-too-early")
class TooEarly(Variant):
    def join(self, token, x):
        return torch.cat([token, x[:, 1:], torch.zeros_like(token)], dim=1)


@wrong("class_token.module", "wider-not-longer")
class Wider(Variant):
    def join(self, token, x):
        return torch.cat([token.expand_as(x), x], dim=2)
