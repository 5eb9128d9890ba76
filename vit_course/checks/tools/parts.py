"""The numbers of encoder blocks, told apart by what they do: in a block by itself, or inside something larger."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.tools.flat import Flat
from vit_course.checks.tools.modules import feed
from vit_course.checks.tools.roles import Roles, Watched, find_roles

NOTHING = torch.zeros(0, dtype=torch.long)


def normed(x: torch.Tensor) -> torch.Tensor:
    """Each token with mean 0 and variance 1."""
    return F.layer_norm(x, x.shape[-1:], eps=1e-6)


@dataclass(frozen=True)
class Norm:
    """Places (D,) of the scale and the shift of a norm in the row of numbers."""

    scale: torch.Tensor
    shift: torch.Tensor


@dataclass
class Branch:
    """An attention or an MLP.

    Args:
        matrices: their places, those of its last one first where that is known.
        is_mlp: which of the two it is.
        norm: before it, once found.
    """

    matrices: list[torch.Tensor]
    is_mlp: bool
    norm: Norm | None = None


class Parts:
    """A block by itself, as a model of one layer whose embedding and head pass on what they get.

    Args:
        module: the learner's, in eval mode.
        width, inner: D and the width inside the MLP, which nothing else has.
        layers: how many blocks there are.
        others: parameters that belong to no block.
    """

    asker = 1  # which token is looked at: not the first, to which a causal mask leaves no choice
    tokens = 4  # how many; fewer than D
    inside = ""  # how a sentence begins
    ends_in_norm = False
    far = 1.0  # how long the tokens are whose way through the blocks is followed

    def __init__(self, module: nn.Module, width: int, inner: int, layers: int = 1, others: Sequence = ()):
        self.module, self.width, self.inner, self.layers = module, width, inner, layers
        self.flat = Flat(list(module.parameters()))
        rest = []
        for parameter in self.flat.parameters:
            if not any(parameter is other for other in others):
                places = self.flat.places(parameter)  # of all layers at once, perhaps
                rest += places.unbind() if layers > 1 and places.ndim > 2 and len(places) == layers else [places]
        self.inner_biases = [one for one in rest if one.numel() == inner]
        rest = [one for one in rest if one.numel() != inner]
        self.matrices = [one for one in rest if one.numel() > 3 * width]
        self.vectors = [one for one in rest if one.numel() <= 3 * width]
        self.slices = [
            part for one in self.vectors if one.numel() % width == 0 for part in one.reshape(-1, width).unbind()
        ]
        first = self.flat.get()
        # A norm begins as one that changes nothing: so are these told from biases before anything is known.
        self.scales = [part for part in self.slices if bool((first[part] == 1).all())]

    def row(self, value: float = 0.0) -> torch.Tensor:
        """A row with silent branches, and vectors of this value."""
        row = torch.zeros(self.flat.total)
        for part in self.slices:
            row[part] = value
        return row

    def plain_row(self) -> torch.Tensor:
        """A row with silent branches, no biases, and norms that neither scale nor shift."""
        row = self.row()
        for scale in self.scales:
            row[scale] = 1
        return row

    def drawn(self, row: torch.Tensor, matrices: Sequence[torch.Tensor], draw, gain: float = 0.5) -> torch.Tensor:
        """The row with these matrices random."""
        row = row.clone()
        for matrix in matrices:
            row[matrix] = gain * self.width**-0.5 * draw.normal(*matrix.shape)
        return row

    def output(self, tokens: torch.Tensor) -> torch.Tensor:
        """(T, D) -> (n,): what comes out, with the row that is set; its first D numbers are those of the asker."""
        return feed(self.module, tokens[None])[0, self.asker]

    def out(self, row: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """(T, D) -> (D,): the token that is looked at, with this row."""
        self.flat.set(row)
        return self.output(tokens).detach()[: self.width]

    def slopes(self, row: torch.Tensor, tokens: torch.Tensor, draw) -> torch.Tensor:
        """The gradient of what comes out, with random weights, in the row."""
        self.flat.set(row)
        out = self.output(tokens)
        return self.flat.slopes((out * draw.normal(*out.shape)).sum())

    def branches(self, draw) -> list[Branch]:
        """Attention and MLP, told apart by their shapes; an MLP's last matrix is the one without which none learns."""
        attention, mlp = ([m for m in self.matrices if (self.inner in m.shape) == is_mlp] for is_mlp in (False, True))
        row, tokens = self.drawn(self.plain_row(), mlp, draw), draw.normal(self.tokens, self.width)
        for bias in self.inner_biases:
            row[bias] = 1 + draw.uniform(*bias.shape)
        for matrix in mlp:
            silent = row.clone()
            silent[matrix] = 0
            slopes = self.slopes(silent, tokens, draw)
            if not any(slopes[other].any() for other in mlp if other is not matrix):
                mlp = [matrix, *(other for other in mlp if other is not matrix)]
        return [Branch(attention, False), Branch(mlp, True)]

    def find_norms(self, branches: Sequence[Branch], draw) -> Norm | None:
        """Gives each branch the norm that it reads through; returns the one behind all blocks, or None.

        With the other branches silent and all tokens alike, a scale has the gradient of its shift times the normed
        token. All vectors are 1: what that adds to a token, its norm takes away again.
        """
        token = draw.normal(self.width)
        tokens = token.expand(self.tokens, -1).clone()
        for branch in branches:
            branch.norm = self._norm(self.slopes(self.drawn(self.row(1.0), branch.matrices, draw), tokens, draw), token)
        last = self._norm(self.slopes(self.row(1.0), tokens, draw), token) if self.ends_in_norm else None
        for norm in (last, *(branch.norm for branch in branches)):
            if norm and not any(norm.scale is scale for scale in self.scales):
                self.scales.append(norm.scale)
        return last

    def by_kind(self, branches: Sequence[Branch], number: int) -> tuple[list[Branch], list[Branch]]:
        """The attentions and the MLPs."""
        return [one for one in branches if not one.is_mlp], [one for one in branches if one.is_mlp]

    def complete(self, branches: Sequence[Branch], last: Norm | None) -> None:
        """Raises `Wrong` where a norm is missing without which nothing more can be found out."""

    def _norm(self, slopes: torch.Tensor, token: torch.Tensor) -> Norm | None:
        least = 1e-5 * max((slopes[part].abs().max() for part in self.slices), default=0)
        for scale in self.slices:
            for shift in self.slices:
                apart = slopes[scale] - normed(token) * slopes[shift]
                if slopes[shift].norm() > least and apart.norm() < 1e-2 * slopes[scale].norm():
                    return Norm(scale, shift)
        return None

    def roles(self, branch: Branch, draw) -> Roles:
        """What the units of an attention do, with all other branches silent, or, where it acts through them, with all.

        Raises:
            Wrong: it reads something else than its tokens, or than these behind a norm.
        """
        watched = Watched(self.flat, self.output, self.asker)
        tokens = self.far * normed(draw.normal(self.tokens, self.width))
        for matrices in (branch.matrices, self.matrices):
            row = self.drawn(self.plain_row(), matrices, draw)
            slopes = self.slopes(row, tokens, draw)
            if any(slopes[matrix].any() for matrix in branch.matrices):
                break
        return find_roles(watched, branch.matrices, tokens, draw.normal(*self.output(tokens).shape))
