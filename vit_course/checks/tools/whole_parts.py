"""The numbers of a whole model, told apart by what they do: table of positions, head, branches of the blocks."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.modules import feed
from vit_course.checks.tools.parts import Branch, Norm, Parts
from vit_course.checks.tools.words import beside


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


class WholeParts(Parts):
    """A model whose tokens are put in by its table of positions, and whose class token is read through its head.

    Args:
        model: the learner's, in eval mode; its head has more classes K than D.
        sizes: its keyword arguments, such that no two widths are alike.
    """

    asker = 0
    inside = "Inside the blocks: "
    ends_in_norm = True
    far = 1e6  # what a branch adds is so small beside tokens of this length that the last norm is a straight line

    def __init__(self, model: nn.Module, sizes: dict):
        (height, width), self.patch = sizes["image_size"], sizes["patch_size"]
        hidden, self.classes = sizes["hidden_dim"], sizes["num_classes"]
        self.images = torch.zeros(1, sizes["in_channels"], height, width)
        self.tokens = height // self.patch * (width // self.patch) + 1
        pixels = self.patch**2 * sizes["in_channels"]
        self.embedding, self.positions, self.head = (
            [p for p in model.parameters() if p.numel() == numbers * hidden]
            for numbers in (pixels, self.tokens, self.classes)
        )
        others = [*self.embedding, *self.positions, *self.head]
        super().__init__(model, hidden, sizes["mlp_dim"], sizes["num_layers"], others)

    @property
    def known(self) -> bool:
        """Whether table, head and embedding were found, each as one parameter."""
        return len(self.embedding) == len(self.positions) == len(self.head) == 1

    def row(self, value: float = 0.0) -> torch.Tensor:
        """A row with silent branches, vectors of this value, and a head that gives the class token's numbers."""
        row = super().row(value)
        places = self.flat.places(self.head[0]).squeeze()
        places = places if places.shape[0] == self.classes else places.T
        row[places[range(self.width), range(self.width)]] = 1
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
        return feed(self.module, self.images)[0]

    def branches(self, draw) -> list[Branch]:
        """Every branch, found by its last matrix: set to 0, nothing before it in its branch has a gradient."""
        row = self.drawn(self.row(), self.matrices, draw)
        for part in (*self.slices, *self.inner_biases):
            row[part] = 0.5 + draw.normal(*part.shape)
        tokens, weights = draw.normal(self.tokens, self.width), draw.normal(self.classes)

        def slopes(row: torch.Tensor) -> torch.Tensor:
            self.flat.set(row)
            return self.flat.slopes((self.output(tokens) * weights).sum()).abs()

        base, found = slopes(row), []
        acts = base > 1e-9 * base.max()
        for matrix in self.matrices:
            if not acts[matrix].any():
                sentence = "The logits ignore part of the blocks: a block is built but not run, or not all "
                raise Wrong("block-unused", f"{sentence}of it.")
            silent = row.clone()
            silent[matrix] = 0
            gone = slopes(silent) < 1e-6 * base
            others = [p for p in self.matrices if p is not matrix and bool(gone[p][acts[p]].all())]
            found.append(Branch([matrix, *others], self.inner in matrix.shape))
        sets = [{id(matrix) for matrix in branch.matrices} for branch in found]
        return [
            branch
            for index, (branch, own) in enumerate(zip(found, sets, strict=True))
            if not any(own < other for other in sets) and own not in sets[:index]
        ]

    def by_kind(self, branches: Sequence[Branch], number: int) -> tuple[list[Branch], list[Branch]]:
        """As many attentions as MLPs and layers; raises `Wrong` where they are not."""
        attentions, mlps = super().by_kind(branches, number)
        if len(attentions) == self.layers * number:  # each has a projection; they share a norm
            norms = {id(one.norm and one.norm.scale): one.norm for one in attentions}
            by_norm = [[one for one in attentions if id(one.norm and one.norm.scale) == key] for key in norms]
            attentions = [replace(those[0], matrices=[m for one in those for m in one.matrices]) for those in by_norm]
        if len(attentions) != self.layers or len(mlps) != self.layers:
            sentence = "The blocks are not made of one attention and one MLP each, both added to their input."
            found = f"{len(attentions)} attentions and {len(mlps)} MLPs"
            raise Wrong("wrong-behaviour", sentence, beside(f"{self.layers} of each", found))
        return attentions, mlps

    def complete(self, branches: Sequence[Branch], last: Norm | None) -> None:
        """Raises `Wrong` unless all the norms are there, each with one place."""
        if last is None:
            raise Wrong("no-last-norm", "There is no norm with its own scale and shift after the last block.")
        if without := sum(branch.norm is None for branch in branches):
            sentence = "Not every attention and MLP runs once for each image and gets its tokens from a LayerNorm."
            details = [f"Received: {without} of {len(branches)} attentions and MLPs that do something else"]
            raise Wrong("wrong-behaviour", sentence, details)
