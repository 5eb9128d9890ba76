"""Vision Transformers as tutorials and papers' authors write them, each with what its recording has to be."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from tutorial_attention import (
    HEADS,
    WIDTH,
    Attention,
    ByEinsum,
    Fused,
    LoopOverHeads,
    LoopOverMatrices,
    Lora,
    ModuleForEachHead,
    NormForEachHead,
    OnParts,
    OwnNormForEachHead,
    SumOfHeads,
    keep,
)

from vit_course.maps import describe

SIZE, PATCH, GRID, DEPTH = (32, 24), 8, (4, 3), 2


class Block(nn.Module):
    def __init__(self, attention: Callable[[], nn.Module] = Attention):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attn = attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 40), nn.GELU(), nn.Linear(40, WIDTH))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class InPlace(Block):
    def forward(self, x):
        x += self.attn(self.norm1(x))
        x += self.mlp(self.norm2(x))
        return x


class Parallel(Block):
    """Two attentions side by side (arXiv:2203.09795), each with its own norm."""

    def __init__(self):
        super().__init__()
        self.attns = nn.ModuleList(nn.Sequential(nn.LayerNorm(WIDTH), Attention()) for _ in range(2))
        del self.attn

    def forward(self, x):
        x = x + torch.stack([attn(x) for attn in self.attns]).sum(0)
        return x + self.mlp(self.norm2(x))


class BesideItsMLP(Block):
    """Attention and MLP side by side (arXiv:2302.05442)."""

    def forward(self, x):
        y = self.norm1(x)
        return x + self.attn(y) + self.mlp(y)


class Tutorial(nn.Module):
    """A ViT in forty lines.

    Args:
        block: makes one block.
        order: the places of the class token "c", the registers "r" and the patches "p" in the sequence.
        by_columns: patches are read column by column.
    """

    def __init__(self, block: Callable[[], nn.Module] = Block, order: str = "cp", by_columns: bool = False):
        super().__init__()
        self.order, self.by_columns = order, by_columns
        self.project = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.c, self.r = nn.Parameter(torch.randn(1, 1, WIDTH)), nn.Parameter(torch.randn(1, 2, WIDTH))
        self.positions = nn.Parameter(0.1 * torch.randn(1, 12 + order.count("c") + 2 * order.count("r"), WIDTH))
        self.blocks = nn.ModuleList(block() for _ in range(DEPTH))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 5)

    def embed(self, images):
        patches = self.project(images)
        patches = (patches.mT if self.by_columns else patches).flatten(2).mT
        parts = {"c": self.c.expand(len(images), -1, -1), "r": self.r.expand(len(images), -1, -1), "p": patches}
        return torch.cat([parts[part] for part in self.order], dim=1) + self.positions

    def forward_features(self, images):
        x = self.embed(images)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)

    def forward(self, images):
        return self.head(self.forward_features(images).mean(1))


class SharedBlock(Tutorial):
    """One block, run `DEPTH` times (arXiv:1909.11942)."""

    def __init__(self):
        super().__init__()
        self.block = self.blocks[0]
        del self.blocks

    def forward_features(self, images):
        x = self.embed(images)
        for _ in range(DEPTH):
            x = self.block(x)
        return self.norm(x)


class OneForward(nn.Module):
    """All layers written out in one forward, without modules of their own."""

    def __init__(self):
        super().__init__()
        self.patch_size = PATCH
        self.weight = nn.Parameter(torch.randn(WIDTH, 3 * PATCH**2) / 14)
        self.qkv = nn.ParameterList(torch.randn(3 * WIDTH, WIDTH) / 5 for _ in range(DEPTH))

    def forward(self, images):
        x = F.unfold(images, PATCH, stride=PATCH).mT @ self.weight.T
        for qkv in self.qkv:
            q, k, v = F.linear(x, qkv).unflatten(2, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
            weights = keep((q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1))
            x = x + (weights @ v).transpose(1, 2).flatten(2)
        return x.mean(1)


class OfPyTorch(nn.Module):
    """`nn.TransformerEncoder`, tokens first or second, pre-norm."""

    def __init__(self, batch_first: bool):
        super().__init__()
        self.batch_first = batch_first
        self.project, self.cls_token = nn.Conv2d(3, WIDTH, PATCH, PATCH), nn.Parameter(torch.randn(1, 1, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 40, 0.0, norm_first=True, batch_first=batch_first)
        self.encoder = nn.TransformerEncoder(layer, DEPTH, enable_nested_tensor=False)

    def forward(self, images):
        x = torch.cat([self.cls_token.expand(len(images), -1, -1), self.project(images).flatten(2).mT], dim=1)
        x = x if self.batch_first else x.transpose(0, 1)
        for layer in self.encoder.layers:
            y = layer.norm1(x if self.batch_first else x.transpose(0, 1))
            weight, bias = (
                each[: 2 * WIDTH] for each in (layer.self_attn.in_proj_weight, layer.self_attn.in_proj_bias)
            )
            q, k = F.linear(y, weight, bias).unflatten(2, (2, HEADS, -1)).permute(2, 0, 3, 1, 4)
            keep(
                (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
            )  # not multiplied by values, so that it is no attention
            x = layer(x)
        return x


class Together(nn.Module):
    """Runs its parts one after the other on the picture, or on its mirror image."""

    def __init__(self, *parts: nn.Module, mirrored: bool = False):
        super().__init__()
        self.parts, self.mirrored = nn.ModuleList(parts), mirrored

    def forward(self, images):
        first, *rest = self.parts
        out = first(images)
        for part in rest:
            out = out + part(images)
        return out + first(images.flip(3)) if self.mirrored else out


class Pair(nn.Module):
    """A Siamese model: one encoder for two pictures."""

    def __init__(self, kind=Tutorial):
        super().__init__()
        self.encoder = kind()

    def forward(self, images):
        return self.encoder(images) * self.encoder(images.flip(2))


def with_lora() -> nn.Module:
    model = Tutorial()
    for block in model.blocks:
        block.attn.qkv = Lora(block.attn.qkv)
    return model


def at_zero() -> nn.Module:
    """Every branch adds nothing, as at the start of ReZero (arXiv:2003.04887): all blocks are given equal tokens."""
    model = Tutorial()
    for block in model.blocks:
        for last in (block.attn.out, block.mlp[2]):
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
    return model


def run(model: nn.Module, images: torch.Tensor) -> object:
    return model(images)


class Described(Tutorial):
    """A tutorial's model whose parts somebody has named."""


class WithHeads(Tutorial):
    """The same, with one module for each head."""


class SideBySide(Tutorial):
    """The same, with two attentions side by side."""


PARTS = dict(patches="project", tokens={"class token": "c"}, norm="norm")
describe(Described, blocks="blocks", attention="attn", **PARTS)
describe(WithHeads, blocks="blocks", attention="attn.heads.*", **PARTS)
describe(SideBySide, blocks="blocks", attention="attns.*.1", **PARTS)


@dataclass
class Row:
    """A model, and its recording: passes, layers and heads; or words with which it is refused.

    Args:
        make: makes it.
        heads, layers, passes: of its maps.
        refused: words of the message.
        call: runs it, if not by model(images).
    """

    make: Callable[[], nn.Module]
    heads: int = HEADS
    layers: int = DEPTH
    passes: int = 1
    refused: str = ""
    call: Callable = run


def blocks(attention: Callable[[], nn.Module], kind: type = Tutorial) -> Callable[[], nn.Module]:
    return partial(kind, partial(Block, attention))


PARTS_OF_WHAT, TWICE = "may be heads, branches or several models; it is not known where", "more than once in a pass"
ROWS = {
    "matrix products": Row(Tutorial),
    "described": Row(Described),
    "einsum": Row(blocks(ByEinsum)),
    "the fused call": Row(blocks(Fused)),
    "one head": Row(blocks(partial(Attention, 1)), refused="attends with one head, so they may be heads of one layer"),
    "one head, described": Row(blocks(partial(Attention, 1), Described), heads=1),
    "a module for each head": Row(blocks(ModuleForEachHead), refused=PARTS_OF_WHAT),
    "a module for each head, described": Row(blocks(ModuleForEachHead, WithHeads)),
    "a module for each head, on its part of the tokens": Row(blocks(OnParts, WithHeads)),
    "a norm for each head": Row(blocks(NormForEachHead, WithHeads)),
    "a norm of its own for each head": Row(blocks(OwnNormForEachHead, WithHeads)),
    "a sum of heads": Row(blocks(SumOfHeads, WithHeads)),
    "a loop over heads": Row(blocks(LoopOverHeads), refused=TWICE),
    "a loop over heads, described": Row(blocks(LoopOverHeads, Described), refused=TWICE),
    "a loop over matrices": Row(blocks(LoopOverMatrices), refused=r"weights of shape \(13, 13\)"),
    "adds in place": Row(partial(Tutorial, InPlace)),
    "adds nothing yet": Row(at_zero),
    "two attentions side by side": Row(partial(Tutorial, Parallel), refused=PARTS_OF_WHAT),
    "two attentions side by side, described": Row(partial(SideBySide, Parallel), heads=2 * HEADS),
    "attention beside its MLP": Row(partial(Tutorial, BesideItsMLP)),
    "one block, run again": Row(SharedBlock, refused=TWICE),
    "one forward without modules": Row(OneForward, refused=" attends over 12 parts|more than once"),
    "class token last": Row(partial(Tutorial, order="pc")),
    "nn.TransformerEncoder": Row(partial(OfPyTorch, True)),
    "nn.TransformerEncoder, tokens first": Row(partial(OfPyTorch, False)),
    "LoRA": Row(with_lora),
    "nn.DataParallel": Row(lambda: nn.DataParallel(Tutorial())),
    "compiled": Row(lambda: torch.compile(Tutorial(), backend="eager")),
    "traced": Row(
        lambda: torch.jit.trace(Tutorial().eval(), torch.randn(2, 3, *SIZE), check_trace=False),
        refused="traced or scripted",
    ),
    "an average of weights": Row(lambda: torch.optim.swa_utils.AveragedModel(Tutorial())),
    "a Siamese pair": Row(Pair, refused=TWICE),
    "a Siamese pair, described": Row(partial(Pair, Described), passes=2),
    "a picture and its mirror image": Row(lambda: Together(Tutorial(), mirrored=True), refused=TWICE),
    "a picture and its mirror image, described": Row(lambda: Together(Described(), mirrored=True), passes=2),
    "a part alone": Row(
        Tutorial, refused="ran outside of a call of Tutorial", call=lambda model, images: model.forward_features(images)
    ),
    "a second, partial pass": Row(
        Described, passes=2, call=lambda model, images: (model(images), model.forward_features(images))
    ),
    "a partial pass first": Row(
        Described, passes=2, call=lambda model, images: (model.forward_features(images), model(images))
    ),
    "one block once more": Row(
        Described,
        refused=TWICE,
        call=lambda model, images: (model(images), model.blocks[1](torch.randn(2, 13, WIDTH))),
    ),
    "two models on one picture": Row(lambda: Together(Tutorial(), Tutorial()), refused=PARTS_OF_WHAT),
    "two described models": Row(lambda: Together(Described(), Described()), refused="holds several Vision Trans"),
}  # fmt: skip
