"""More answers to exercise capstone.block: other parts in their places."""

import torch.nn.functional as F
from torch import nn

from answers import wrong
from answers.capstone.block import Block, ByHand


@wrong("capstone.block", "no-scale")
class NoScaleInside(ByHand):
    def attend(self, x):
        q, k, v = (z.unflatten(2, (self.h, -1)).transpose(1, 2) for z in (x @ self.w).chunk(3, -1))
        return ((q @ k.mT).softmax(-1) @ v).transpose(1, 2).flatten(2) @ self.o + self.p


@wrong("capstone.block", "queries-with-queries")
class QueriesWithQueries(ByHand):
    def attend(self, x):
        q, _, v = (z.unflatten(2, (self.h, -1)).transpose(1, 2) for z in (x @ self.w).chunk(3, -1))
        return F.scaled_dot_product_attention(q, q, v).transpose(1, 2).flatten(2) @ self.o + self.p


@wrong("capstone.block", "batch-mates-matter")
class BatchFirstForgotten(nn.TransformerEncoderLayer):
    def __init__(self, D, h, M):
        super().__init__(D, h, M, activation="gelu", norm_first=True)


@wrong("capstone.block", "post-norm")
class TorchPostNorm(nn.TransformerEncoderLayer):
    def __init__(self, D, h, M):
        super().__init__(D, h, M, activation="gelu", batch_first=True)


@wrong("capstone.block", "mlp-dim-ignored")
class FourTimes(Block):
    def __init__(self, D, h, M):
        super().__init__(D, h, 4 * D)


@wrong("capstone.block", "wrong-behaviour")
class BatchNorm(Block):
    """A norm over the batch in the place of the first."""

    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.n1 = nn.GroupNorm(2, D)

    def forward(self, x):
        x = x + self.a(self.n1(x.mT).mT)
        return x + self.m(self.n2(x))


@wrong("capstone.block", "mlp-dim-ignored")
class AsWideAsPyTorchs(nn.TransformerEncoderLayer):
    def __init__(self, D, h, M):
        super().__init__(D, h, activation="gelu", batch_first=True, norm_first=True)


@wrong("capstone.block", "gelu-first")
class GeluFirst(Block):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.m = nn.Sequential(nn.GELU(), nn.Linear(D, M), nn.Linear(M, D))


@wrong("capstone.block", "norm-unused")
class NormOfTokensAndWidth(Block):
    def forward(self, x):
        x = x + self.a(self.n1(x))
        return x + self.m(F.layer_norm(x, x.shape[1:]))


@wrong("capstone.block", "gradient-cut")
class StreamDetached(Block):
    def forward(self, x):
        x = x.detach() + self.a(self.n1(x))
        return x + self.m(self.n2(x))


@wrong("capstone.block", "second-residual-around-both")
class BlockInputAdded(Block):
    def forward(self, x):
        return x + self.m(self.n2(x + self.a(self.n1(x))))


@wrong("capstone.block", "tuple-for-tensor")
class PairAdded(Block):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.a = nn.MultiheadAttention(D, h, batch_first=True)

    def forward(self, x):
        y = self.n1(x)
        x = x + self.a(y, y, y)
        return x + self.m(self.n2(x))


class Apart(PairAdded):
    def forward(self, x):
        y = self.n1(x)
        x = x + self.a(y, y, y)[0]
        return x + self.m(self.n2(x))


@wrong("capstone.block", "no-mean-in-norm")
class RMSNorms(Apart):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.n1, self.n2 = nn.RMSNorm(D), nn.RMSNorm(D)
