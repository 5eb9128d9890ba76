"""More answers to exercise capstone.vit: other sizes, other tokens, blocks that are put together otherwise."""

import torch
import torch.nn.functional as F
from torch import nn

from answers import unforeseen, wrong
from answers.capstone.vit import Whole, _block, _stack_of, _whole


def _sized(slug, **changes):
    """A model built with other sizes than asked for: each a function of all sizes."""

    def init(self, **sizes):
        Whole.__init__(self, **(sizes | {name: change(sizes) for name, change in changes.items()}))

    wrong("capstone.vit", slug)(type(slug, (Whole,), {"__init__": init}))


_sized("blocks-shared", num_layers=lambda sizes: sizes["num_layers"] - 1)
_sized("classes-of-ones-own", num_classes=lambda sizes: 10)
_sized("mlp-dim-ignored", mlp_dim=lambda sizes: 2048)
_sized("mlp-dim-ignored", mlp_dim=lambda sizes: 4 * sizes["hidden_dim"])
_sized("one-head", num_heads=lambda sizes: 1)
_sized("table-of-another-length", image_size=lambda sizes: (sizes["image_size"][0], 2 * sizes["image_size"][1]))


def _own_tokens(join):
    """(class token, patch tokens, positions) -> tokens."""

    def tokens(self, images):
        x = self.linear(F.unfold(images, self.P, stride=self.P).mT)
        return join(self.c.expand(len(x), 1, -1), x, self.p)

    return tokens


def _down_the_columns(self, images):
    rows, columns = (size // self.P for size in images.shape[2:])
    x = self.linear(F.unfold(images, self.P, stride=self.P).mT)
    x = x.unflatten(1, (rows, columns)).transpose(1, 2).flatten(1, 2)
    return torch.cat([self.c.expand(len(x), 1, -1), x], 1) + self.p


def _at_every_block(self, images):
    z = self.tokens(images)
    for block in self.blocks:
        z = block(z + self.p)
    return self.head(self.norm(z)[:, 0])


def _first_norm_last(self, images):
    z = self.blocks(self.tokens(images))
    return self.head(self.blocks[0].norm1(z)[:, 0])


_whole("patches-mixed", tokens=_down_the_columns)
_whole("embedding-not-linear", tokens=_own_tokens(lambda c, x, p: torch.cat([c, x.relu()], 1) + p))
_whole("embedding-not-linear", tokens=_own_tokens(lambda c, x, p: torch.cat([c, x], 1) * p))
_whole("embedding-not-linear", forward=lambda self, images: Whole.forward(self, images / 255))
_whole("one-image-only", tokens=_own_tokens(lambda c, x, p: torch.cat([c[:1], x], 1) + p))
_whole("positions-in-every-block", forward=_at_every_block)
_whole("norm-missing", forward=_first_norm_last)
_whole("residual-twice", stack=_stack_of(_block(lambda block, z: z + block(z))))
_whole("second-residual-around-both",
       stack=_stack_of(_block(lambda b, z: z + b.mlp(b.norm2(z + b.attention(b.norm1(z)))))))  # fmt: skip
unforeseen("capstone.vit")(
    type(
        "Subtracts",
        (Whole,),
        {"stack": _stack_of(_block(lambda b, z: (y := z + b.attention(b.norm1(z))) - b.mlp(b.norm2(y))))},
    )
)


def _detached(b, z):
    z = z.detach() + b.attention(b.norm1(z))
    return z + b.mlp(b.norm2(z))


_whole("gradient-cut", stack=_stack_of(_block(_detached)))


@wrong("capstone.vit", "norm-missing")
class RMSNorms(Whole):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        for block in self.blocks:
            block.norm1, block.norm2 = (_WithoutMean(sizes["hidden_dim"]) for _ in range(2))


class _WithoutMean(nn.LayerNorm):
    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight) + self.bias


@wrong("capstone.vit", "head-without-bias")
class HeadWithoutBias(Whole):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.head = nn.Linear(sizes["hidden_dim"], sizes["num_classes"], bias=False)


@wrong("capstone.vit", "channels-of-ones-own")
class ThreeChannels(Whole):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.linear = nn.Conv2d(7, sizes["hidden_dim"], self.P, self.P)

    def tokens(self, images):
        x = self.linear(images).flatten(2).mT
        return torch.cat([self.c.expand(len(x), 1, -1), x], 1) + self.p


@wrong("capstone.vit", "count-not-int")
class PatchesAsFloat(Whole):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        height, width = sizes["image_size"]
        self.p = nn.Parameter(torch.zeros(1, height * width / sizes["patch_size"] ** 2 + 1, sizes["hidden_dim"]))
