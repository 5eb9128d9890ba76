"""More answers to exercise capstone.attention: wrong steps between the four matrices."""

import torch
import torch.nn.functional as F
from torch import nn

from answers import unforeseen, wrong
from answers.capstone.attention import Einsum, Variant
from vit_course.attention import AttentionHead

# ---- wrong ones: the parts of one fused layer exchanged, and steps between


def _parts(slug, way):
    """The einsum one, with another way from q, k, v to what is projected."""

    def forward(self, x):
        q, k, v = self.parts(x)
        return torch.einsum("bhtd,hdD->btD", way(self, q, k, v), self.o) + self.c

    wrong("capstone.attention", slug)(type(slug, (Einsum,), {"forward": forward}))


def softmax_by(function):
    def way(self, q, k, v):
        return function(q @ k.mT, q.shape[-1]) @ v

    return way


_parts("queries-with-queries", lambda self, q, k, v: self.weights(q, q) @ v)
_parts("queries-with-queries", lambda self, q, k, v: self.weights(k, k) @ v)
_parts("values-are-keys", lambda self, q, k, v: self.weights(q, k) @ k)
_parts("values-are-queries", lambda self, q, k, v: self.weights(q, k) @ q)
_parts("values-are-keys", lambda self, q, k, v: self.weights(q, v) @ v)
_parts("values-for-all", lambda self, q, k, v: self.weights(v, v) @ v)
_parts("scores-unused", lambda self, q, k, v: torch.ones_like(q @ k.mT).softmax(-1) @ v)
_parts("heads-averaged", lambda self, q, k, v: self.weights(q, k).mean(1, keepdim=True) @ v)
_parts("heads-averaged", lambda self, q, k, v: self.weights(q, k).sum(1, keepdim=True) @ v)
_parts("scores-averaged", softmax_by(lambda s, d: (s / d**0.5).mean(1, keepdim=True).softmax(-1)))
_parts("softmax-over-heads", softmax_by(lambda s, d: (s / d**0.5).softmax(1)))
_parts("softmax-over-queries", softmax_by(lambda s, d: (s / d).softmax(2)))
_parts("no-softmax", softmax_by(lambda s, d: s / d**0.5))
_parts("scale-upside-down", softmax_by(lambda s, d: (s * d**0.5).softmax(-1)))
_parts("scale-after-softmax", softmax_by(lambda s, d: s.softmax(-1) / d**0.5))
_parts("scale-by-other-size", softmax_by(lambda s, d: (s / s.shape[-1] ** 0.5).softmax(-1)))
_parts("softmax-twice", softmax_by(lambda s, d: (s / d**0.5).softmax(-1).softmax(-1)))
_parts("softmax-over-queries", softmax_by(lambda s, d: (s / d**0.5).softmax(-1).mT))
_parts("not-a-softmax", softmax_by(lambda s, d: (s / d**0.5).sigmoid()))
_parts("causal-mask", softmax_by(lambda s, d: (s / d**0.5 + torch.full_like(s, -torch.inf).triu(1)).softmax(-1)))
_parts("own-token-masked", softmax_by(lambda s, d: (s / d**0.5 - 1e9 * torch.eye(s.shape[-1])).softmax(-1)))
_parts("unused-parameters", lambda self, q, k, v: (self.weights(q, k) @ v)[:, :1].expand_as(v))
_parts("random-result", lambda self, q, k, v: F.dropout(self.weights(q, k) @ v, 0.1))
_parts("gradient-cut", lambda self, q, k, v: (self.weights(q, k) @ v).detach())


@wrong("capstone.attention", "values-unused")
class AveragesTokens(Einsum):
    def forward(self, x):
        q, k, _ = self.parts(x)
        mixed = self.weights(q, k).mean(1) @ x
        return mixed @ self.o.flatten(0, 1) + self.c


@wrong("capstone.attention", "one-head")
class HeadsNotCut(Variant):
    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        return self.out((q @ k.mT / x.shape[-1] ** 0.5).softmax(-1) @ v)


@wrong("capstone.attention", "input-added")
class Residual(Variant):
    def forward(self, x):
        return x + super().forward(x)


@wrong("capstone.attention", "positions-inside")
class Positions(Variant):
    def forward(self, x):
        return super().forward(x + torch.arange(float(x.shape[1])).sin()[:, None])


@wrong("capstone.attention", "batch-of-one")
class Squeezed(Variant):
    def forward(self, x):
        return super().forward(x).squeeze()


@wrong("capstone.attention", "norm-added")
class Normed(Variant):
    def __init__(self, D, h):
        super().__init__(D, h)
        self.norm = nn.LayerNorm(D)

    def forward(self, x):
        return super().forward(self.norm(x))


@wrong("capstone.attention", "heads-not-registered")
class HeadsInAList(nn.Module):
    def __init__(self, D, h):
        super().__init__()
        self.heads, self.out = [AttentionHead(D, D // h) for _ in range(h)], nn.Linear(D, D)

    def forward(self, x):
        return self.out(torch.cat([head(x)[0] for head in self.heads], -1))


@wrong("capstone.attention", "axes-do-not-fit")
class TooWide(Variant):
    def forward(self, x):
        return self.out(torch.cat([x, x], -1))


@unforeseen("capstone.attention")
class SharedWeightsOfTwoHeads(Variant):
    """The weights of the first head serve the second as well."""

    def forward(self, x):
        q, k, v = (self.cut(layer(x)) for layer in (self.q, self.k, self.v))
        weights = (q @ k.mT / self.divisor(q, x)).softmax(-1)
        weights = weights + 0.1 * weights.roll(1, 1)
        return self.out(self.merge(weights @ v, x))


@unforeseen("capstone.attention")
class Doubled(Variant):
    def forward(self, x):
        return 2 * super().forward(x)


@wrong("capstone.attention", "wrong-number-of-heads")
class TwoHeads(Variant):
    """Two heads, however many were asked for."""

    def __init__(self, D, h):
        super().__init__(D, 2)


@wrong("capstone.attention", "heads-and-width-exchanged")
class HeadsOfOtherWidth(Variant):
    def __init__(self, D, h):
        super().__init__(D, D // h)


@wrong("capstone.attention", "tokens-changed-first")
class NormedWithoutParameters(Variant):
    def forward(self, x):
        return super().forward(F.layer_norm(x, x.shape[-1:]))
