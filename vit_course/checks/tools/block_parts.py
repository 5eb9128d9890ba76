"""The numbers of an encoder block, told apart by what they do."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.tools.flat import Flat
from vit_course.checks.tools.modules import feed

ASKER = 1


def normed(x: torch.Tensor) -> torch.Tensor:
    """Each token with mean 0 and variance 1."""
    return F.layer_norm(x, x.shape[-1:], eps=1e-6)


@dataclass(frozen=True)
class Norm:
    """Places (D,) of the scale and the shift of a norm in the row of numbers."""

    scale: torch.Tensor
    shift: torch.Tensor

    def of(self, x: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
        """What it makes of tokens."""
        return normed(x) * row[self.scale] + row[self.shift]


class BlockParts:
    """The parameters of a block by kind.

    Args:
        module: the learner's, in eval mode.
        width, inner: D and the width inside the MLP, which no other part of the block has.
    """

    def __init__(self, module: nn.Module, width: int, inner: int):
        self.module, self.width = module, width
        self.flat = Flat(list(module.parameters()))
        shapes = {id(p): tuple(size for size in p.shape if size > 1) for p in self.flat.parameters}
        self.mlp = [p for p in self.flat.parameters if inner in shapes[id(p)]]
        rest = [p for p in self.flat.parameters if inner not in shapes[id(p)]]
        self.matrices = [p for p in rest if p.numel() > 3 * width]
        self.vectors = [p for p in rest if p.numel() <= 3 * width]
        self.inner_bias = self._row_of([p for p in self.mlp if p.numel() == inner])
        self.attention, self.spare = self._row_of(self.matrices), self._row_of(self.vectors)
        self.in_mlp = self._row_of(self.mlp)
        self.slices = [
            part
            for p in self.vectors
            if p.numel() % width == 0
            for part in self.flat.places(p).reshape(-1, width).unbind()
        ]  # fmt: skip
        first = self.flat.get()
        # A norm begins as one that changes nothing: only so are these told from biases before anything is known.
        self.began_as_ones = [part for part in self.slices if bool((first[part] == 1).all())]

    def _row_of(self, parameters: list[nn.Parameter]) -> torch.Tensor:
        return torch.cat([torch.zeros(0, dtype=torch.long), *(self.flat.places(p).flatten() for p in parameters)])

    def draw(self, draw, attention: bool = True, mlp: bool = True) -> torch.Tensor:
        """A row with random matrices, those of silent branches 0, and vectors of 0."""
        row = torch.zeros(self.flat.total)
        for parameters, active in ((self.matrices, attention), (self.mlp, mlp)):
            for parameter in parameters if active else ():
                numbers = 0.5 * self.width**-0.5 * draw.normal(*parameter.shape)
                row[self.flat.places(parameter)] = numbers
        row[self.inner_bias] = 0
        return row

    def out(self, row: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """What the module gives with this row, (B, T, D)."""
        self.flat.set(row)
        return feed(self.module, x).detach()

    def norm_before(self, draw, attention: bool) -> list[Norm]:
        """The norms that the attention, or else the MLP, reads its tokens through; one, where all is right.

        With the other branch silent and all tokens alike, a scale has the gradient of its shift times the normed
        token. All vectors are 1: what that adds to a token, its norm takes away again.
        """
        row = self.draw(draw, attention, not attention)
        for part in self.slices:
            row[part] = 1
        self.flat.set(row)
        token = draw.normal(self.width)
        out = feed(self.module, token.expand(1, 3, -1).clone())[0, ASKER]
        slopes = self.flat.slopes((out * draw.normal(self.width)).sum())
        least = 1e-5 * slopes.abs().max()
        return [
            Norm(scale, shift)
            for scale in self.slices
            for shift in self.slices
            if slopes[shift].norm() > least
            and (slopes[scale] - normed(token) * slopes[shift]).norm() < 1e-2 * slopes[scale].norm()
        ]

    def last_bias(self, draw) -> torch.Tensor:
        """The places of what is added last of all: the gradient there is that of the output."""
        row = self.draw(draw)
        for part in self.slices:
            row[part] = draw.normal(self.width)
        self.flat.set(row)
        weights = draw.normal(self.width)
        slopes = self.flat.slopes((feed(self.module, draw.normal(1, 3, self.width))[0, ASKER] * weights).sum())
        found = [part for part in self.slices if (slopes[part] - weights).norm() < 1e-3 * weights.norm()]
        return torch.cat([torch.zeros(0, dtype=torch.long), *found])
