"""Answers to exercise capstone.block."""

from torch import nn

from answers import UNKNOWN, Answers

answers = Answers("capstone.block")
(MyAttention,) = answers.given("MyAttention")

answers.edits(
    ("shared-norm", "self.norm2(x)", "self.norm1(x)"),
    ("relu", "functional.gelu", "functional.relu"),
    (UNKNOWN, "x + self.contract", "x - self.contract"),
)


class Layers(nn.Module):
    def __init__(self, D, h, M):
        super().__init__()
        self.norm1 = nn.LayerNorm(D)
        self.norm2 = nn.LayerNorm(D)
        self.attention = MyAttention(D, h)
        self.expand = nn.Linear(D, M)
        self.contract = nn.Linear(M, D)


@answers.right
class TanhGelu(Layers):
    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.contract(nn.functional.gelu(self.expand(self.norm2(x)), approximate="tanh"))


@answers.right
class NamedLayersInSequential(Layers):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.mlp = nn.Sequential(self.expand, nn.GELU(), self.contract)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


@answers.right
class Convolutions(Layers):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.expand = nn.Conv1d(D, M, 1)
        self.contract = nn.Conv1d(M, D, 1)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.contract(nn.functional.gelu(self.expand(self.norm2(x).mT))).mT


@answers.wrong("other-names")
class LayersInSequential(nn.Module):
    def __init__(self, D, h, M):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.attention = MyAttention(D, h)
        self.mlp = nn.Sequential(nn.Linear(D, M), nn.GELU(), nn.Linear(M, D))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


@answers.wrong("shared-parameters")
class OneNorm(TanhGelu):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.norm2 = self.norm1


@answers.wrong("parameters-too-many")
class ThreeNorms(TanhGelu):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.norm3 = nn.LayerNorm(D)


@answers.wrong("post-norm")
class PostNorm(Layers):
    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.contract(nn.functional.gelu(self.expand(x))))


@answers.wrong("layer-of-the-library")
class Library(nn.TransformerEncoderLayer):
    def __init__(self, D, h, M):
        super().__init__(D, h, M, activation="gelu", batch_first=True, norm_first=True)
