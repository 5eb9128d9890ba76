"""Answers to exercise capstone.vit."""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

from answers import right, wrong
from vit_course.config import ViTConfig
from vit_course.encoder import Encoder, EncoderBlock
from vit_course.vit import ViT


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


@wrong("capstone.vit", "hidden-layer-in-head")
class WiderHead(Whole):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        D = sizes["hidden_dim"]
        self.head = nn.Sequential(nn.Linear(D, D), nn.Linear(D, sizes["num_classes"]))


# ---- right ones in other forms


class FromTorch(Whole):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.blocks = nn.TransformerEncoder(self.layer(sizes), sizes["num_layers"], enable_nested_tensor=False)

    def layer(self, sizes, **options):
        options = dict(dropout=0.1, activation="gelu", batch_first=True, norm_first=True) | options
        return nn.TransformerEncoderLayer(sizes["hidden_dim"], sizes["num_heads"], sizes["mlp_dim"], **options)


right("capstone.vit")(FromTorch)


@right("capstone.vit")
class Inline(Whole):
    """Lists of parts of one kind, without a class for a block; tanh GELU; no biases of queries, keys and values."""

    def __init__(self, **s):
        super().__init__(**s)
        D, L, M = s["hidden_dim"], s["num_layers"], s["mlp_dim"]
        self.h = s["num_heads"]
        self.n1, self.n2 = (nn.ModuleList(nn.LayerNorm(D) for _ in range(L)) for _ in range(2))
        self.e, self.f = (nn.ModuleList(nn.Linear(a, b) for _ in range(L)) for a, b in ((D, M), (M, D)))
        self.qkv = nn.Parameter(torch.randn(L, D, 3 * D) / 9)
        self.o = nn.ModuleList(nn.Linear(D, D) for _ in range(L))
        del self.blocks

    def blocks(self, z):
        for i in range(len(self.o)):
            parts = (self.n1[i](z) @ self.qkv[i]).chunk(3, -1)
            q, k, v = (part.unflatten(2, (self.h, -1)).transpose(1, 2) for part in parts)
            z = z + self.o[i](F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
            z = z + self.f[i](F.gelu(self.e[i](self.n2[i](z)), approximate="tanh"))
        return z


# ---- wrong ones


def _whole(slug, base=Whole, **methods):
    wrong("capstone.vit", slug)(type(slug, (base,), methods))


def _logits(function):
    return lambda self, images: function(Whole.forward(self, images))


def _run(step):
    """A forward whose tokens pass the blocks by `step(self, blocks, z)`."""
    return lambda self, images: self.head(step(self, list(self.blocks), self.tokens(images))[:, 0])


def _norm_each(self, blocks, z):
    for block in blocks:
        z = self.norm(block(z))
    return z


def _chain(blocks, z):
    for block in blocks:
        z = block(z)
    return z


def _with(**options):
    def init(self, **sizes):
        Whole.__init__(self, **sizes)
        self.blocks = nn.TransformerEncoder(
            self.layer(sizes, **options), sizes["num_layers"], enable_nested_tensor=False
        )

    return init


def _stack_of(block):
    def stack(self, layers, make):
        return nn.Sequential(*(block(make()) for _ in range(layers)))

    return stack


def _block(forward):
    """A block of the package, run in another way."""

    class Changed(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, z):
            return forward(self.inner, z)

    return Changed


_whole("softmax-in-model", forward=_logits(lambda out: out.softmax(-1)))
_whole("log-softmax-in-model", forward=_logits(lambda out: out.log_softmax(-1)))
_whole("function-behind-head", forward=_logits(torch.relu))
_whole("last-norm-after-every-block", forward=_run(_norm_each))
_whole("last-norm-twice", forward=_run(lambda self, blocks, z: self.norm(self.norm(_chain(blocks, z)))))
_whole("block-unused", forward=_run(lambda self, blocks, z: self.norm(_chain(blocks[:1], z))))
_whole("block-unused", forward=_run(lambda self, blocks, z: self.norm(_chain(blocks[:1] * len(blocks), z))))
_whole("post-norm", FromTorch, __init__=_with(norm_first=False))
_whole("relu", FromTorch, __init__=_with(activation="relu"))
_whole("patches-lost", FromTorch, __init__=_with(batch_first=False))
_whole("batch-of-one", forward=_logits(torch.squeeze))
_whole("gradient-cut", forward=_run(lambda self, blocks, z: self.norm(_chain(blocks, z.detach()))))
_whole("parallel", stack=_stack_of(_block(lambda b, z: z + b.attention(b.norm1(z)) + b.mlp(b.norm2(z)))))
_whole("norm-missing", stack=_stack_of(_block(lambda b, z: (y := z + b.attention(b.norm1(z))) + b.mlp(y))))


def _mlp_first(b, z):
    z = z + b.mlp(b.norm2(z))
    return z + b.attention(b.norm1(z))


def _one_norm(b, z):
    z = z + b.attention(b.norm1(z))
    return z + b.mlp(b.norm1(z))


_whole("mlp-first", stack=_stack_of(_block(_mlp_first)))
_whole("shared-norm", stack=_stack_of(_block(_one_norm)))


def _norm_behind(b, z):
    z = z + b.norm1(b.attention(z))
    return z + b.norm2(b.mlp(z))


def _bare_view(self, images):
    x = self.linear(rearrange(images, "b c (i p) (j q) -> b (i j) (c p q)", p=self.P, q=self.P))
    x = x.mT.reshape(x.shape)
    return torch.cat([self.c.expand(len(x), 1, -1), x], 1) + self.p


_whole("norm-after-branch", stack=_stack_of(_block(_norm_behind)))
_whole("patches-mixed", tokens=_bare_view)
_whole("positions-twice", tokens=lambda self, images: Whole.tokens(self, images) + self.p)
_whole("no-head", forward=lambda self, images: self.norm(self.blocks(self.tokens(images)))[:, 0])
_whole("logits-scaled", forward=_logits(lambda out: 2 * out))
