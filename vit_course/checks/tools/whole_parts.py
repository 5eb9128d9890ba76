"""The numbers of a whole model, told apart by what they do: table of positions, head, branches of the blocks."""

from dataclasses import dataclass

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.block_parts import Norm, normed
from vit_course.checks.tools.flat import Flat
from vit_course.checks.tools.modules import feed

FAR = 1e6  # tokens of this length: what a branch adds is so small beside them that the last norm is a straight line


@dataclass
class Branch:
    """An attention or an MLP inside the model.

    Args:
        matrices: their places, those of its last one first.
        through: the places of all that acts through it alone.
        is_mlp: which of the two it is.
        norm: before it, once found.
    """

    matrices: list[torch.Tensor]
    through: torch.Tensor
    is_mlp: bool
    norm: Norm | None = None


def distinct_sizes(draw, layers: int) -> tuple[dict, tuple[int, int]]:
    """Sizes that tell parameters apart by their shapes, with fewer tokens than D and more classes; and the grid."""
    while True:
        rows, columns = draw.choose([(2, 3), (3, 2)])
        patch, channels = draw.sizes(2, low=1, high=5)
        # As many heads as layers would not tell who exchanges the two.
        heads, head_width = draw.choose([(h, d) for h, d in ((2, 6), (3, 4), (2, 7)) if h != layers])
        width, tokens = heads * head_width, rows * columns + 1
        pixels, classes, inner = patch**2 * channels, width + 1, 2 * width + 3
        if patch > 1 and pixels > 3 and len({pixels, classes, inner, width, tokens, tokens - 1}) == 6:
            sizes = dict(
                image_size=(rows * patch, columns * patch), patch_size=patch, in_channels=channels,
                num_classes=classes, hidden_dim=width, num_layers=layers, num_heads=heads, mlp_dim=inner,
            )  # fmt: skip
            return sizes, (rows, columns)


class WholeParts:
    """A model whose tokens are put in by its table of positions, and whose class token is read through its head.

    Args:
        model: the learner's, in eval mode; its head has more classes K than D.
        sizes: its keyword arguments, such that no two widths are alike.
    """

    def __init__(self, model: nn.Module, sizes: dict):
        self.model, self.width, self.inner = model, sizes["hidden_dim"], sizes["mlp_dim"]
        (height, width), patch = sizes["image_size"], sizes["patch_size"]
        self.patch = patch
        self.images = torch.zeros(1, sizes["in_channels"], height, width)
        self.tokens = height // patch * (width // patch) + 1
        self.classes = sizes["num_classes"]
        self.flat = Flat(list(model.parameters()))
        pixels = patch * patch * sizes["in_channels"]
        self.embedding = self._of_size(pixels * self.width)
        self.positions = self._of_size(self.tokens * self.width)
        self.head = self._of_size(self.classes * self.width)
        named = [*self.embedding, *self.positions, *self.head]
        layers, rest = sizes["num_layers"], []
        for parameter in self.flat.parameters:
            if not any(parameter is one for one in named):
                places = self.flat.places(parameter)  # of all layers at once, perhaps
                rest += places.unbind() if places.ndim > 2 and len(places) == layers else [places]
        self.matrices = [one for one in rest if one.numel() > 3 * self.width]
        vectors = [one for one in rest if one.numel() <= 3 * self.width]
        self.inner_biases = [one for one in vectors if one.numel() == self.inner]
        self.slices = [
            part for one in vectors if one.numel() % self.width == 0 for part in one.reshape(-1, self.width).unbind()
        ]

    def _of_size(self, numbers: int) -> list[nn.Parameter]:
        return [p for p in self.flat.parameters if p.numel() == numbers]

    @property
    def known(self) -> bool:
        """Whether table, head and embedding were found, each as one parameter."""
        return len(self.embedding) == len(self.positions) == len(self.head) == 1

    def row(self, value: float = 0.0) -> torch.Tensor:
        """A row with silent branches, vectors of this value, and a head that gives the class token's numbers."""
        row = torch.zeros(self.flat.total)
        for part in self.slices:
            row[part] = value
        places = self.flat.places(self.head[0]).squeeze()
        places = places if places.shape[0] == self.classes else places.T
        row[places[range(self.width), range(self.width)]] = 1
        return row

    def drawn(self, row: torch.Tensor, matrices: list[torch.Tensor], draw, gain: float = 0.5) -> torch.Tensor:
        """The row with these matrices random."""
        row = row.clone()
        for matrix in matrices:
            row[matrix] = gain * self.width**-0.5 * draw.normal(*matrix.shape)
        return row

    def table(self) -> torch.Tensor:
        """(T, D): the positions, a copy."""
        (table,) = self.positions
        rows = table.detach().clone().squeeze()
        return rows if rows.shape[-1] == self.width else rows.T

    def set_table(self, rows: torch.Tensor) -> None:
        """Writes (T, D) into the positions."""
        (table,) = self.positions
        with torch.no_grad():
            table.copy_(rows.reshape(table.shape) if table.shape[-1] == self.width else rows.T.reshape(table.shape))

    def output(self, tokens: torch.Tensor) -> torch.Tensor:
        """(T, D) -> (K,): the logits for these tokens, with the row that is set."""
        self.set_table(tokens)
        return feed(self.model, self.images)[0]

    def slopes(self, row: torch.Tensor, tokens: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """The gradient of the weighted logits in the row."""
        self.flat.set(row)
        return self.flat.slopes((self.output(tokens) * weights).sum())

    def branches(self, draw) -> list[Branch]:
        """Every branch, found by its last matrix: set to 0, nothing before it in its branch has a gradient."""
        row = self.drawn(self.row(), self.matrices, draw)
        for part in (*self.slices, *self.inner_biases):
            row[part] = 0.5 + draw.normal(*part.shape)
        tokens, weights = draw.normal(self.tokens, self.width), draw.normal(self.classes)
        base, found = self.slopes(row, tokens, weights).abs(), []
        least = 1e-9 * base.max()
        for matrix in self.matrices:
            if not (base[matrix] > least).any():
                raise Wrong(
                    "block-unused",
                    "Part of the blocks has no share in the logits: a block is built and not run, or not all of it.",
                )
            silent = row.clone()
            silent[matrix] = 0
            gone = (base > least) & (self.slopes(silent, tokens, weights).abs() < 1e-6 * base)
            others = [p for p in self.matrices if p is not matrix and _all_gone(gone, base > least, p)]
            found.append(Branch([matrix, *others], gone.nonzero().flatten(), self.inner in matrix.shape))
        sets = [{id(matrix) for matrix in branch.matrices} for branch in found]
        return [
            branch
            for index, (branch, own) in enumerate(zip(found, sets, strict=True))
            if not any(own < other for other in sets) and own not in sets[:index]
        ]

    def find_norms(self, branches: list[Branch], draw) -> Norm | None:
        """Gives each branch the norm that it reads through; returns the last norm, or None where there is none.

        As in `BlockParts.norm_before`: a scale has the gradient of its shift times the normed token. All vectors are
        1, which the norms take away again.
        """
        token = draw.normal(self.width)
        tokens, weights = token.expand(self.tokens, -1), draw.normal(self.classes)
        for branch in branches:
            slopes = self.slopes(self.drawn(self.row(1.0), branch.matrices, draw), tokens, weights)
            branch.norm = self._norm(slopes, token)
        return self._norm(self.slopes(self.row(1.0), tokens, weights), token)

    def _norm(self, slopes: torch.Tensor, token: torch.Tensor) -> Norm | None:
        for scale in self.slices:
            for shift in self.slices:
                apart = slopes[scale] - normed(token) * slopes[shift]
                if slopes[shift].norm() > 0 and apart.norm() < 1e-2 * slopes[scale].norm():
                    return Norm(scale, shift)
        return None


def _all_gone(gone: torch.Tensor, active: torch.Tensor, matrix: torch.Tensor) -> bool:
    return bool(gone[matrix][active[matrix]].all())
