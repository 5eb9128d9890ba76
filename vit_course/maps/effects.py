"""How much it matters: the change of what a model says where each of its heads, branches, layers or patches is out."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby

import torch
import torch.nn.functional as F
from torch import nn
from tqdm import tqdm

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.rules import is_int, one_of, shown
from vit_course._support.inputs.tensors import check_floats, check_module, finite
from vit_course.maps.active_interventions import Skipped, aside
from vit_course.maps.blocks import find_blocks, first_tensor, run
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
from vit_course.maps.intervention_mode import Intervention, Running
from vit_course.maps.recorded import HOOKS
from vit_course.maps.recording import logits_of
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
    with torch.no_grad(), aside():
        whole = Whole(model, image, kind, of)
        shape, changes = _changes(whole, kind, ("mean" if kind == "heads" else "zero") if by is None else by, block)
        values = torch.full((len(changes),), torch.nan)
        try:
            with tqdm(total=len(changes), desc=kind, leave=False, file=sys.stdout, disable=not progress) as bar:
                for places in _batches(changes, batch_size):
                    rows = [[changes[place][1]] for place in places]
                    found = _size(whole.end, whole.changed(changes[places[0]][0], rows), of)
                    values[places] = finite("effects", found).to(values)
                    bar.update(len(places))
        except KeyboardInterrupt:
            pass  # what is done is kept
    return Effects(values.view(shape), kind, of)


class Whole:
    """One pass of the unchanged model, and others that begin at the layer where something is changed.

    `end` is what is measured: (1, num_classes) of the "logits", (1, D) of a token, (1, T, D) of all "tokens".
    """

    def __init__(self, model: nn.Module, image: torch.Tensor, kind: str, of: str | int):
        self.model, self.image, self.of = model, image, of
        self.blocks = list(find_blocks(model).values())
        inside = {module for block in self.blocks for module in block.modules()}
        # The last that gives tokens is the last layer, or what comes behind it, such as a norm.
        self.behind = [self.blocks[-1], *(module for module in model.modules() if module not in inside)]
        self.outputs: list = []  # of the layers
        self.heads: list[int] = []  # in each of them, where heads are asked for
        counted = [Intervention(kind, "heads", ALL, self._count)] if kind == "heads" else []
        with intervene(model, counted), _hooked(self.blocks, self._keep):
            self.end = self._run()

    def changed(self, layer: int, rows: Sequence[Sequence[Intervention]]) -> torch.Tensor:
        """-> the end of a pass with other changes in each of n rows, none of them before the layer."""
        placed = [replace(one, row=row) for row, changes in enumerate(rows) for one in changes]
        repeated = Intervention("effects", "tokens", (layer,), lambda x, _: x.repeat(len(rows), 1, 1))
        with intervene(self.model, [repeated, *placed]), _skipped(self.blocks, self.outputs[:layer]):
            return self._run()

    def tokens(self) -> Tokens:
        """Which token is what."""
        height, width = self.image.shape[2:]
        return find_tokens(first_tensor(self.outputs[0]).shape[1], (height, width), self.model)

    def _keep(self, _: nn.Module, __: tuple, output: tuple | torch.Tensor) -> None:
        x = first_tensor(output).clone()  # the next layer may add to it in place
        self.outputs.append((x, *output[1:]) if isinstance(output, tuple) else x)

    def _count(self, x: torch.Tensor, _: Running) -> torch.Tensor:
        self.heads.append(x.shape[1])  # (1, h, T, d)
        return x

    def _run(self) -> torch.Tensor:
        # As `end`, of n pictures.
        ends: list[torch.Tensor] = []

        def ended(_: nn.Module, __: tuple, output: object) -> None:
            x = first_tensor(output)
            if isinstance(x, torch.Tensor) and x.ndim == 3:
                ends.append(x)

        with _hooked(self.behind, ended):
            out = run(self.model, self.image)
        if self.of == "logits":
            return logits_of(out)
        length = first_tensor(self.outputs[-1]).shape[1:]
        tokens = next(x for x in reversed(ends) if x.shape[1:] == length)
        return tokens if self.of == "tokens" else tokens[:, self._token(length[0])]

    def _token(self, count: int) -> int:
        if is_int(self.of):
            return among("token", need_places("token", self.of), count, "of")[0]
        prefix = self.tokens().prefix
        if self.of not in prefix:
            names = ", ".join(map(repr, ("logits", *prefix)))
            raise ValueError(f"of must be {names} or the index of a token, got {shown(self.of)}")
        return prefix.index(str(self.of))


def _changes(whole: Whole, kind: str, by: By, block: int) -> tuple[tuple[int, ...], list[Change]]:
    # The shape of the effects, and what each of them is an effect of.
    layers = range(len(whole.blocks))
    if kind == "heads":
        if len(set(whole.heads)) > 1:
            raise ValueError(f"layers have different numbers of heads, {whole.heads}, so that they make no table")
        made = [(layer, without_head(layer, head, by)) for layer in layers for head in range(whole.heads[0])]
        return (len(layers), whole.heads[0]), made
    if kind == "patches":
        rows, columns = whole.tokens().grid
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


@contextmanager
def _hooked(modules: list[nn.Module], hook: Callable) -> Iterator[None]:
    thread = threading.get_ident()
    with HOOKS:
        hooks = [
            module.register_forward_hook(lambda *given: hook(*given) if threading.get_ident() == thread else None)
            for module in modules
        ]
    try:
        yield
    finally:
        with HOOKS:
            for each in hooks:
                each.remove()


@contextmanager
def _skipped(blocks: list[nn.Module], outputs: list) -> Iterator[None]:
    # The first layers give in this thread what they gave before.
    own = [(block, block.__dict__.get("forward")) for block, _ in zip(blocks, outputs, strict=False)]
    for (block, _), output in zip(own, outputs, strict=True):
        block.forward = Skipped(block.forward, output)
    try:
        yield
    finally:
        for block, forward in own:
            del block.forward
            if forward is not None:
                block.forward = forward
