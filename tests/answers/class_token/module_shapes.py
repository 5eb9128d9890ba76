"""Further answers to class_token.module: those that come out in another shape, or with other patches."""

import torch
from torch import nn

from answers import wrong
from answers.class_token.module import Variant


@wrong("class_token.module", "last-patch-dropped")
class WithoutTheLast(Variant):
    def join(self, token, x):
        return torch.cat([token, x[:, :-1]], dim=1)


@wrong("class_token.module", "joined-along-the-batch")
class OneImageMore(Variant):
    def forward(self, x):
        return torch.cat([self.token.expand(1, x.shape[1], -1), x])


@wrong("class_token.module", "token-for-each-patch")
class AsManyInFront(Variant):
    def join(self, token, x):
        return torch.cat([token.expand_as(x), x], dim=1)


@wrong("class_token.module", "parameters-replaced")
class MadeEachTime(Variant):
    def forward(self, x):
        self.token = nn.Parameter(torch.zeros(1, 1, x.shape[2]))
        return super().forward(x)


@wrong("class_token.module", "added-to-every-patch")
class AddedToo(Variant):
    def join(self, token, x):
        return torch.cat([token, x + token], dim=1)


@wrong("class_token.module", "parameters-replaced")
class MadeOnlyInTheCall(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.hidden_dim = hidden_dim

    def forward(self, x):
        self.token = nn.Parameter(torch.zeros(1, 1, self.hidden_dim))
        return torch.cat([self.token.expand(len(x), -1, -1), x], dim=1)
