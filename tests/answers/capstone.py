"""Answers to the exercises of chapter 11."""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

import answers.attention
import answers.patchify  # noqa: F401  (their answers are used below)
from answers import RIGHT, UNFORESEEN, WRONG, right, unforeseen, wrong
from vit_course.attention import SelfAttention
from vit_course.config import ViTConfig
from vit_course.embeddings import ClassToken, LearnedPositions
from vit_course.encoder import MLP, Encoder, EncoderBlock
from vit_course.vit import ViT

# Two exercises ask for what earlier chapters asked for.
for capstone, earlier in (("capstone.patches", "patchify.embedding"), ("capstone.attention", "attention.module")):
    RIGHT[capstone] += RIGHT[earlier]
    WRONG[capstone] += WRONG[earlier]
    UNFORESEEN[capstone] += UNFORESEEN[earlier]


# ---- tokens


@right("capstone.tokens")
class FromPackage(nn.Sequential):
    def __init__(self, n, width):
        super().__init__(ClassToken(width), LearnedPositions(n + 1, width))


@right("capstone.tokens")
class ZeroStart(nn.Module):
    def __init__(self, n, width):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(n + 1, width))

    def forward(self, x):
        return torch.stack([torch.vstack([self.a, image]) + self.b for image in x])


@right("capstone.tokens")
class Table(nn.Module):
    def __init__(self, n, width):
        super().__init__()
        self.place, self.first = nn.Embedding(n + 1, width), nn.Parameter(torch.randn(1, width))

    def forward(self, x):
        x = torch.cat([self.first.repeat(len(x), 1)[:, None], x], 1)
        return x + self.place(torch.arange(x.shape[1]))


class Tokens(nn.Module):
    rows = 1

    def __init__(self, n, width):
        super().__init__()
        self.c, self.p = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.zeros(1, n + self.rows, width))

    def forward(self, x):
        return torch.cat([self.c.expand(len(x), -1, -1), x], 1) + self.p


right("capstone.tokens")(Tokens)


@wrong("capstone.tokens", "class-token-last")
class Last(Tokens):
    def forward(self, x):
        return torch.cat([x, self.c.expand(len(x), -1, -1)], 1) + self.p


@wrong("capstone.tokens", "positions-for-patches-only")
class PatchesOnly(Tokens):
    rows = 0

    def forward(self, x):
        return torch.cat([self.c.expand(len(x), -1, -1), x + self.p], 1)


@wrong("capstone.tokens", "class-token-without-position")
class After(Tokens):
    def forward(self, x):
        return torch.cat([self.c.expand(len(x), -1, -1), x + self.p[:, 1:]], 1)


@wrong("capstone.tokens", "positions-not-learned")
class Fixed(Tokens):
    def __init__(self, n, width):
        super().__init__(n, width)
        del self.p
        self.p = torch.randn(1, n + 1, width)


@wrong("capstone.tokens", "no-positions")
class OnePosition(Tokens):
    def forward(self, x):
        return torch.cat([self.c.expand(len(x), -1, -1), x], 1) + self.p[:, :1]


@wrong("capstone.tokens", "not-added")
class Multiplied(Tokens):
    def forward(self, x):
        return torch.cat([self.c.expand(len(x), -1, -1), x], 1) * self.p


@wrong("capstone.tokens", "class-token-from-image")
class MeanAsClassToken(Tokens):
    def forward(self, x):
        return torch.cat([self.c + x.mean(1, keepdim=True), x], 1) + self.p


@wrong("capstone.tokens", "raised-error")
class SizedByBatch(nn.Module):
    def __init__(self, n, width):
        super().__init__()
        self.c, self.p = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.zeros(1, n + 1, width))

    def forward(self, x):
        return torch.cat([self.c, x], 1) + self.p


@unforeseen("capstone.tokens")
class TwoTables(Tokens):
    def __init__(self, n, width):
        super().__init__(n, width)
        self.more = nn.Parameter(torch.zeros(1, 3, width))


# ---- block


@right("capstone.block")
class Finished(EncoderBlock):
    pass


@right("capstone.block")
class FromTorch(nn.TransformerEncoderLayer):
    def __init__(self, D, h, M):
        super().__init__(D, h, M, activation="gelu", batch_first=True, norm_first=True)


class Block(nn.Module):
    def __init__(self, D, h, M):
        super().__init__()
        self.a, self.m = SelfAttention(D, h, qkv_bias=False), MLP(D, M)
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)

    def forward(self, x):
        y = self.a(self.n1(x)) + x
        return self.m(self.n2(y)) + y


right("capstone.block")(Block)


@right("capstone.block")
class NoBiasInAttention(Block):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.a.projection = nn.Linear(D, D, bias=False)


def block_variant(mistake):
    def register(forward):
        return wrong("capstone.block", mistake)(type(forward.__name__, (Block,), {"forward": forward}))

    return register


@block_variant("post-norm")
def post(self, x):
    x = self.n1(x + self.a(x))
    return self.n2(x + self.m(x))


@block_variant("no-residual")
def bare(self, x):
    return self.m(self.n2(self.a(self.n1(x))))


@block_variant("residual-from-norm")
def normed(self, x):
    x = self.n1(x)
    x = self.n2(x + self.a(x))
    return x + self.m(x)


@block_variant("residual-twice")
def twice(self, x):
    x = x + (x + self.a(self.n1(x)))
    return x + (x + self.m(self.n2(x)))


@block_variant("mlp-first")
def swapped(self, x):
    x = x + self.m(self.n1(x))
    return x + self.a(self.n2(x))


@block_variant("parallel")
def parallel(self, x):
    return x + self.a(self.n1(x)) + self.m(self.n2(x))


@block_variant("no-norm")
def no_norm(self, x):
    x = x + self.a(x)
    return x + self.m(x)


@block_variant("no-second-residual")
def half_residual(self, x):
    x = x + self.a(self.n1(x))
    return self.m(self.n2(x))


@wrong("capstone.block", "relu")
class Relu(nn.TransformerEncoderLayer):
    def __init__(self, D, h, M):
        super().__init__(D, h, M, batch_first=True, norm_first=True)


@wrong("capstone.block", "shared-norm")
class SharedNorm(Block):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.n2 = self.n1


@wrong("capstone.block", "no-mlp")
class NoMLP(Block):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.a, self.m = SelfAttention(D, h), nn.Identity()


@wrong("capstone.block", "no-activation")
class Linear(Block):
    def __init__(self, D, h, M):
        super().__init__(D, h, M)
        self.m = nn.Sequential(nn.Linear(D, M), nn.Linear(M, D))


@unforeseen("capstone.block")
class Halved(Block):
    def forward(self, x):
        return super().forward(x) / 2


@unforeseen("capstone.block")
class Wider(Block):
    def __init__(self, D, h, M):
        super().__init__(D, h, 2 * M)


# ---- vit


@right("capstone.vit")
def from_package(**sizes):
    return ViT(ViTConfig(**sizes))


class Whole(nn.Module):
    extra, read = 1, 0

    def __init__(self, image_size, patch_size, in_channels, num_classes, hidden_dim, num_layers, num_heads, mlp_dim):
        super().__init__()
        self.P, D = patch_size, hidden_dim
        self.linear = nn.Linear(in_channels * patch_size**2, D)
        n = image_size[0] // patch_size * (image_size[1] // patch_size)
        self.c, self.p = nn.Parameter(torch.zeros(D)), nn.Parameter(torch.zeros(n + self.extra, D))
        self.blocks = self.stack(num_layers, lambda: EncoderBlock(D, num_heads, mlp_dim))
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, num_classes)

    def stack(self, layers, make):
        return nn.Sequential(*(make() for _ in range(layers)))

    def tokens(self, images):
        x = self.linear(rearrange(images, "b c (i p) (j q) -> b (i j) (c p q)", p=self.P, q=self.P))
        return torch.cat([self.c.expand(len(x), 1, -1), x], 1) + self.p

    def forward(self, images):
        return self.head(self.norm(self.blocks(self.tokens(images)))[:, self.read])


right("capstone.vit")(Whole)


@right("capstone.vit")
class FromEncoder(Whole):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.blocks = Encoder(sizes["num_layers"], sizes["hidden_dim"], sizes["num_heads"], sizes["mlp_dim"])
        self.norm = nn.Identity()


@wrong("capstone.vit", "wrong-token-read")
class ReadsLast(Whole):
    read = -1


@wrong("capstone.vit", "wrong-token-read")
class ReadsMean(Whole):
    def forward(self, images):
        return self.head(self.norm(self.blocks(self.tokens(images))).mean(1))


@wrong("capstone.vit", "a-row-missing")
class PositionsForPatches(Whole):
    extra = 0

    def tokens(self, images):
        x = self.linear(rearrange(images, "b c (i p) (j q) -> b (i j) (c p q)", p=self.P, q=self.P)) + self.p
        return torch.cat([self.c.expand(len(x), 1, -1), x], 1)


@wrong("capstone.vit", "no-positions")
class NoPositions(Whole):
    def tokens(self, images):
        x = self.linear(rearrange(images, "b c (i p) (j q) -> b (i j) (c p q)", p=self.P, q=self.P))
        return torch.cat([self.c.expand(len(x), 1, -1), x], 1) + self.p[:1].expand(x.shape[1] + 1, -1)


@wrong("capstone.vit", "blocks-shared")
class OneBlock(Whole):
    def stack(self, layers, make):
        return nn.Sequential(*[make()] * layers)


@wrong("capstone.vit", "blocks-not-registered")
class PlainList(Whole):
    def stack(self, layers, make):
        blocks = [make() for _ in range(layers)]

        def run(x):
            for block in blocks:
                x = block(x)
            return x

        return run


@wrong("capstone.vit", "no-last-norm")
class NoLastNorm(Whole):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.norm = nn.Identity()


@wrong("capstone.vit", "random-result")
class DropoutLeftOn(Whole):
    def tokens(self, images):
        return F.dropout(super().tokens(images), 0.5)


@wrong("capstone.vit", "batch-mates-matter")
class CentredOnTheBatch(Whole):
    def forward(self, images):
        return super().forward(images - images.mean(dim=0))


@wrong("capstone.vit", "patches-lost")
class AttentionOverTheBatch(Whole):
    def forward(self, images):
        x = self.blocks(self.tokens(images).transpose(0, 1)).transpose(0, 1)
        return self.head(self.norm(x)[:, 0])


@unforeseen("capstone.vit")
class WiderHead(Whole):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        D = sizes["hidden_dim"]
        self.head = nn.Sequential(nn.Linear(D, D), nn.Linear(D, sizes["num_classes"]))


# ---- trained


def train(images, labels, epochs=8, rate=2e-3, make=None, sign=1, mode=False):
    torch.manual_seed(0)
    config = ViTConfig(image_size=8, patch_size=4, in_channels=1, num_classes=10, hidden_dim=48, num_layers=2,
                       num_heads=4, mlp_dim=96)  # fmt: skip
    model = make() if make else ViT(config)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate)
    for _ in range(epochs):
        for batch in torch.randperm(len(images)).split(64):
            loss = sign * F.cross_entropy(model(images[batch]), labels[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model.train(mode)


right("capstone.trained")(train)


@right("capstone.trained")
def with_the_package_loop(images, labels):
    model = ViT(ViTConfig(image_size=8, patch_size=2, in_channels=1, num_classes=10, hidden_dim=32, num_layers=2,
                          num_heads=2, mlp_dim=64))  # fmt: skip
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(600):
        batch = slice(64 * (step % 18), 64 * (step % 18) + 64)
        optimiser.zero_grad(set_to_none=False)
        nn.CrossEntropyLoss()(model(images[batch]), labels[batch]).backward()
        optimiser.step()
    return model


@right("capstone.trained")
def no_transformer_at_all(images, labels):  # the check is on what it does
    return train(
        images, labels, make=lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10))
    )


wrong("capstone.trained", "untrained")(lambda x, y: train(x, y, epochs=0))
wrong("capstone.trained", "half-trained")(lambda x, y: train(x, y, epochs=1))
wrong("capstone.trained", "uphill")(
    lambda x, y: train(x, y, epochs=2, sign=-1, rate=2e-3, make=lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 10)))
)
wrong("capstone.trained", "random-result")(
    lambda x, y: train(x, y, epochs=3, mode=True,
                       make=lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.Dropout(0.5), nn.Linear(64, 10)))
)  # fmt: skip
wrong("capstone.trained", "returned-nothing")(lambda x, y: None)


class ByHeart(nn.Module):
    def __init__(self, images, labels):
        super().__init__()
        self.images, self.labels = images.flatten(1), labels

    def forward(self, x):
        distance, nearest = torch.cdist(x.flatten(1), self.images).min(1)
        return F.one_hot(torch.where(distance < 1e-2, self.labels[nearest], 0), 10).float()


wrong("capstone.trained", "learnt-by-heart")(ByHeart)
unforeseen("capstone.trained")(lambda x, y: nn.Sequential(nn.Flatten(), nn.Linear(64, 9)))
