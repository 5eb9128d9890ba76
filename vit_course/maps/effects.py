"""How much it matters: the change of what a model says where each of its heads, branches, layers or patches is out."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import torch
import torch.nn.functional as F
from torch import nn
from tqdm import tqdm

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.rules import is_int, one_of, shown
from vit_course._support.inputs.tensors import check_floats, check_module, finite
from vit_course.maps.active_interventions import unrecorded
from vit_course.maps.anatomy import Anatomy
from vit_course.maps.forward_pass import ForwardPass, logits_of, run
from vit_course.maps.intervene import (
    ALL,
    By,
    among,
    hide,
    intervene,
    need_places,
    without_branch,
    without_head,
    without_layer,
)  # fmt: skip
from vit_course.maps.intervention_mode import Intervention, RunningLayer
from vit_course.maps.tokens import Tokens, find_tokens

KIND = one_of("heads", "patches", "branches", "layers")
BRANCHES = ("attention", "mlp")
Change = tuple[int, Intervention]  # and the layer in which it begins


@dataclass(frozen=True)
class Effects:
    """What `effects` measured; `print` says how much of it.

    Args:
        values: (L, h) of heads, (rows, columns) of patches or of their blocks, (L, 2) of attention and MLP, or (L,) of
            layers; NaN where the computation was interrupted before.
        kind, of: as they were asked for.
    """

    values: torch.Tensor
    kind: str
    of: str | int

    @property
    def done(self) -> int:
        """How many effects there are."""
        return int((~self.values.isnan()).sum())

    @property
    def complete(self) -> bool:
        """Whether all were computed."""
        return self.done == self.values.numel()

    def __str__(self) -> str:
        of = f"token {self.of}" if is_int(self.of) else f"the {self.of}"
        stopped = "" if self.complete else " (interrupted: the others are NaN)"
        return f"effects of {self.done} of {self.values.numel()} {self.kind} on {of}{stopped}"


def effects(
    model: nn.Module,
    image: torch.Tensor,
    kind: str = "heads",
    of: str | int = "logits",
    by: By | None = None,
    batch_size: int = 16,
    progress: bool = True,
    block: int = 1,
) -> Effects:
    """(1, C, H, W) -> (L, h), (ceil(rows / block), ceil(columns / block)), (L, 2) or (L,)

    The size of the change at the end of the model, where each head is replaced, each patch hidden in all layers, each
    branch or each layer taken out, one at a time. Of a token it is 1 - cos(before, after), of its vector at the end of
    the model, after the last norm where all tokens go through one: the norm takes away how long a vector is, so its
    direction is what a head reads. Of the logits y, each less their mean, it is `|after - before| / |before|`, as a
    softmax takes no notice of the mean, but does of the length. A pass starts at the layer that is changed.

    Args:
        model: as of `intervene`, in eval mode.
        image: one picture, as the model takes it.
        kind: "heads", "patches", "branches" or "layers".
        of: "logits", "class token", or the index of a token.
        by: as of `without_head`, "mean" by default, and of `without_branch` and `without_layer`, "zero" by default; a
            function is given this picture alone.
        batch_size: how many changes run at once.
        progress: a bar on standard output.
        block: of patches, how many by how many are hidden together; those at the right and lower edges may be smaller.

    Returns:
        `Effects`, also where it was interrupted (KeyboardInterrupt): of what was done until then.

    Raises:
        TypeError, ValueError: as `intervene`; or not one picture; a model that trains; no such kind or token; a block
            of what are no patches.

    Source: Michel et al. 2019 (arXiv:1905.10650), one head at a time; Abnar & Zuidema 2020 (arXiv:2005.00928), who
        compare maps with what changes without a token; Geva et al. 2023 (arXiv:2304.14767), hidden tokens.
    """
    check_module("model", model)
    check_floats("image", image)
    KIND("kind", kind)
    check_arguments(batch_size=batch_size, progress=progress, block=block)
    if image.ndim != 4 or len(image) != 1:
        raise ValueError(f"image must be one picture (1, C, H, W), got shape {tuple(image.shape)}")
    if model.training:
        raise ValueError("the model is in training mode, in which dropout changes it too: call model.eval() first")
    if kind == "patches" and by is not None:
        raise ValueError("a hidden patch is replaced by nothing: leave by out where kind is 'patches'")
    if kind != "patches" and block != 1:
        raise ValueError(f"a block is one of patches: leave block out where kind is {kind!r}")
    if isinstance(by, torch.Tensor) and len(by) != 1:
        raise ValueError(f"by must be one picture (1, C, H, W), got shape {tuple(by.shape)}")
    with torch.no_grad(), unrecorded():
        baseline = Baseline(model, image, kind, of)
        shape, changes = _changes(baseline, kind, ("mean" if kind == "heads" else "zero") if by is None else by, block)
        values = torch.full((len(changes),), torch.nan)
        try:
            with tqdm(total=len(changes), desc=kind, leave=False, file=sys.stdout, disable=not progress) as bar:
                for places in _batches(changes, batch_size):
                    rows = [[changes[place][1]] for place in places]
                    found = _size(baseline.end, baseline.changed(changes[places[0]][0], rows), of)
                    values[places] = finite("effects", found).to(values)
                    bar.update(len(places))
        except KeyboardInterrupt:
            pass  # what is done is kept
    return Effects(values.view(shape), kind, of)


class Baseline:
    """A pass of the unchanged model, and passes that begin at the layer where something is changed.

    `end` is what is measured: (1, num_classes) of the "logits", (1, D) of a token, (1, T, D) of all "tokens".
    """

    def __init__(self, model: nn.Module, image: torch.Tensor, kind: str, of: str | int):
        self.anatomy = Anatomy(model)
        self.image, self.of = image, of
        self.heads: list[int] = []  # in each layer, where heads are asked for
        counted = [Intervention(kind, "heads", ALL, self._count)] if kind == "heads" else []
        self.before = ForwardPass(self.anatomy)
        with intervene(model, counted), self.before.listening():
            self.end = self._end(self.before, run(model, image))

    def changed(self, layer: int, rows: Sequence[Sequence[Intervention]]) -> torch.Tensor:
        """-> the end of a pass with other changes in each of n rows, none of them before the layer."""
        placed = [replace(one, row=row) for row, changes in enumerate(rows) for one in changes]
        repeated = Intervention("effects", "tokens", (layer,), lambda x, _: x.repeat(len(rows), 1, 1))
        after = ForwardPass(self.anatomy)
        with intervene(self.anatomy.model, [repeated, *placed]), after.listening(to_blocks=False):
            return self._end(after, after.continued(self.image, self.before.outputs[:layer]))

    def tokens(self) -> Tokens:
        """Which token is what."""
        height, width = self.image.shape[2:]
        return find_tokens(self.before.tokens()[0].shape[1], (height, width), self.anatomy)

    def _count(self, x: torch.Tensor, _: RunningLayer) -> torch.Tensor:
        self.heads.append(x.shape[1])  # (1, h, T, d)
        return x

    def _end(self, seen: ForwardPass, out: object) -> torch.Tensor:
        # As `end`, of n pictures.
        if self.of == "logits":
            return logits_of(out)
        assert seen.features is not None  # the last layer has run
        return seen.features if self.of == "tokens" else seen.features[:, self._token(seen.features.shape[1])]

    def _token(self, count: int) -> int:
        if is_int(self.of):
            return among("token", need_places("token", self.of), count, "of")[0]
        prefix = self.tokens().prefix
        if self.of not in prefix:
            names = ", ".join(map(repr, ("logits", *prefix)))
            raise ValueError(f"of must be {names} or the index of a token, got {shown(self.of)}")
        return prefix.index(str(self.of))


def _changes(baseline: Baseline, kind: str, by: By, block: int) -> tuple[tuple[int, ...], list[Change]]:
    # The shape of the effects, and what each of them is an effect of.
    layers = range(len(baseline.before.blocks))
    if kind == "heads":
        if len(set(baseline.heads)) > 1:
            raise ValueError(f"layers have different numbers of heads, {baseline.heads}, so that they make no table")
        made = [(layer, without_head(layer, head, by)) for layer in layers for head in range(baseline.heads[0])]
        return (len(layers), baseline.heads[0]), made
    if kind == "patches":
        rows, columns = baseline.tokens().grid
        shape = -(-rows // block), -(-columns // block)
        return shape, [(0, hide(part)) for part in blocks_of((rows, columns), block)]
    if kind == "layers":
        return (len(layers),), [(layer, without_layer(layer, by)) for layer in layers]
    made = [(layer, without_branch(layer, branch, by)) for layer in layers for branch in BRANCHES]
    return (len(layers), len(BRANCHES)), made


def blocks_of(grid: tuple[int, int], side: int) -> list[list[int]]:
    """-> the patches of each block of side x side, row by row; those at the right and lower edges may be smaller."""
    patches = torch.arange(grid[0] * grid[1]).view(grid)
    return [part.flatten().tolist() for band in patches.split(side) for part in band.split(side, dim=1)]


def _batches(changes: list[Change], batch_size: int) -> Iterator[list[int]]:
    # The places of changes that can run together, as they begin in the same layer.
    for _, group in groupby(range(len(changes)), key=lambda place: changes[place][0]):
        places = list(group)
        yield from (places[start : start + batch_size] for start in range(0, len(places), batch_size))


def _size(before: torch.Tensor, after: torch.Tensor, of: str | int) -> torch.Tensor:
    # (1, D), (n, D) -> (n,)
    before, after = before.double(), after.double()
    if of != "logits":
        return 1 - F.cosine_similarity(before, after, dim=1)
    before, after = (x - x.mean(dim=1, keepdim=True) for x in (before, after))
    return (after - before).norm(dim=1) / before.norm(dim=1)
