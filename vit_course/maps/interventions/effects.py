"""How much a part matters: the change of the model's output without a head, branch, layer or patch."""

import math
import sys
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from tqdm import tqdm

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.rules import is_int, one_of, shown
from vit_course._support.inputs.tensors import check_floats, check_module, check_numbers, need_finite
from vit_course.maps.active_interventions import unrecorded
from vit_course.maps.interpret import mean_and_error
from vit_course.maps.interventions.activation_cache import run_with_cache
from vit_course.maps.interventions.effect_baseline import Baseline, Of
from vit_course.maps.interventions.intervention import Intervention
from vit_course.maps.interventions.make_interventions import By, hide, without_branch, without_head, without_layer
from vit_course.maps.interventions.mean_activations import mean_activations
from vit_course.maps.run_model import check_evaluated

KIND = one_of("heads", "patches", "branches", "layers")
BRANCHES = ("attention", "mlp")
REPLACED = {"heads": ("heads",), "branches": BRANCHES, "layers": ("layer",)}  # the places that each kind changes


@dataclass(frozen=True)
class Effects:
    """The result of `effects`; printed, it says how many effects were computed, and how large they are on average.

    Args:
        each: the effects on each of B pictures, (B, ...), with the axes of `values`; NaN for those that an interruption
            left out: whole pictures, or, where not even one is complete, the missing effects.
        kind, of: the arguments of `effects`.
    """

    each: torch.Tensor
    kind: str
    of: Of

    @property
    def values(self) -> torch.Tensor:
        """The mean over the pictures that are there: (L, h) for heads, (rows, columns) for patches or blocks of them,
        (L, 2) for attention and MLP, or (L,) for layers."""
        return mean_and_error(self._there())[0]

    @property
    def error(self) -> torch.Tensor:
        """The standard error of `values`, the pictures taken as independent; NaN where there is only one."""
        return mean_and_error(self._there())[1]

    @property
    def done(self) -> int:
        """How many effects were computed, those on several pictures counted one by one."""
        return int((~self.each.isnan()).sum())

    @property
    def complete(self) -> bool:
        """Whether all were computed."""
        return self.done == self.each.numel()

    def _there(self) -> torch.Tensor:
        # The pictures with effects; if there are none, one without.
        there = ~self.each.flatten(1).isnan().all(dim=1)
        return self.each[there] if there.any() else self.each[:1]

    def __str__(self) -> str:
        of = f"token {self.of}" if is_int(self.of) else f"the {self.of}" if isinstance(self.of, str) else "a function"
        stopped = "" if self.complete else " (interrupted: the others are NaN)"
        pictures, count = len(self.each), self.each[0].numel()
        if pictures == 1:
            return f"effects of {self.done} of {count} {self.kind} on {of}{stopped}"
        whole = int((~self.each.flatten(1).isnan()).all(dim=1).sum())
        text = f"effects of {count} {self.kind} on {of}, {whole} of {pictures} pictures{stopped}"
        if not whole:
            return text
        at = int(self.values.abs().argmax())
        place = [int(i) for i in torch.unravel_index(torch.tensor(at), self.values.shape)]
        pairs = (
            mean_and_error(self._there().flatten(1).mean(dim=1)),
            (self.values.flatten()[at], self.error.flatten()[at]),
        )
        average, most = (f"{value:.2g} ± {error:.1g}" for value, error in pairs)
        return f"{text}: {average} on average, the strongest {most}, at {place}"


def effects(
    model: nn.Module,
    images: torch.Tensor,
    kind: str = "heads",
    of: Of = "logits",
    by: By | None = None,
    batch_size: int = 16,
    progress: bool = True,
    block: int = 1,
) -> Effects:
    """(B, C, H, W) -> `Effects`: (L, h), (ceil(rows / block), ceil(columns / block)), (L, 2) or (L,), and each of B

    The change of the model's output when each head is replaced, each patch is hidden in all layers, or each branch or
    each layer is removed, one at a time. What the numbers are depends on `of`:

    - a token: 1 - cos(before, after), from 0 to 2, of its vector after the last layer and, if all tokens go through
      one, the last norm, which removes the length of the vector: a head reads its direction.
    - "logits": `|after - before| / |before|` of the logits minus their mean, 0 or more, because a softmax depends on
      their length but not on their mean.
    - a function: after - before, with its sign, in the function's own unit. For a logit difference, for example, an
      effect below 0 means that the part favoured the first class.

    Each row of a batch is a picture with one change; a batch may hold several pictures.

    Args:
        model: as in `intervene`, in eval mode.
        images: B pictures, as the model takes them. The effects on several are computed one picture after the other.
        kind: "heads", "patches", "branches" or "layers".
        of: "logits"; "class token", or the index of a token; or a function from what the model returns for n rows to
            one number for each, (n,), such as `lambda out: out.logits[:, 3] - out.logits[:, 5]`. The rows are pictures
            with changes, in any order, so that each number must depend on its own row alone. Where it depends on the
            picture, like a loss, there is a list of B functions, one for each picture.
        by: as in `without_head`, "token mean" by default, or as in `without_branch` and `without_layer`, "zero" by
            default. One other picture is used for all of them; with B others, each has its own. A function is given the
            activations of one picture alone.
        batch_size: how many changes run at once.
        progress: a bar on standard output.
        block: the side of the blocks of patches that are hidden together; at the right and lower edges they may be
            smaller.

    Returns:
        `Effects`: the mean over the pictures (`values`), its standard error (`error`) and the effects on `each`
        picture; after a KeyboardInterrupt, those computed until then.

    Raises:
        TypeError, ValueError: as `intervene`; or images that are not (B, C, H, W); a model in training mode; an unknown
            kind or token; logits that are all equal; a function that does not give n finite numbers; a block
            where kind is not "patches".

    Source: Michel et al. 2019 (arXiv:1905.10650), one head at a time; Abnar & Zuidema 2020 (arXiv:2005.00928), who
        compare maps with the effect of removing a token; Geva et al. 2023 (arXiv:2304.14767), hidden tokens; Wang et
        al. 2022 (arXiv:2211.00593), who measure a logit difference.
    """
    check_module("model", model)
    check_floats("images", images)
    check_numbers("images", images)
    if isinstance(by, torch.Tensor):
        check_floats("by", by)
        check_numbers("by", by)
    KIND("kind", kind)
    check_arguments(batch_size=batch_size, progress=progress, block=block)
    _check_together(images, kind, of, by, block)
    check_evaluated(model)
    with torch.no_grad(), unrecorded():
        baseline = Baseline(model, images, of, batch_size)
        if isinstance(by, torch.Tensor) and len(by) == 1:
            by = mean_activations(model, by, REPLACED[kind], progress=False)
        shape = _shape(baseline, kind, block)
        each = torch.full((len(images), math.prod(shape)), torch.nan)

        def changes_of(picture: int) -> list[Intervention]:
            other = by
            if isinstance(by, torch.Tensor):  # each picture has its own
                other = mean_activations(model, by[[picture]], REPLACED[kind], progress=False)
            return _changes(baseline, kind, shape, other, block)

        made: dict[int, list[Intervention]] = {}  # the changes of the pictures of a batch
        rows = torch.cartesian_prod(torch.arange(len(images)), torch.arange(each.shape[1]))  # picture, change
        try:
            with tqdm(total=len(rows), desc=kind, leave=False, file=sys.stdout, disable=not progress) as bar:
                for batch in rows.split(batch_size):
                    pictures, changes = batch.unbind(dim=1)
                    made = {one: made.get(one) or changes_of(one) for one in pictures.unique().tolist()}
                    ones = [[made[picture][change]] for picture, change in batch.tolist()]
                    after = baseline.changed(ones, pictures.tolist())
                    found = _size(baseline.end[pictures.to(baseline.end.device)], after, of)
                    each[pictures, changes] = need_finite("effects", found).to(each)
                    bar.update(len(batch))
        except KeyboardInterrupt:
            if (whole := ~each.isnan().any(dim=1)).any():
                each[~whole] = torch.nan  # a mean is over the same pictures everywhere
    return Effects(each.view(-1, *shape), kind, of)


def _check_together(images: torch.Tensor, kind: str, of: Of, by: By | None, block: int) -> None:
    if images.ndim != 4 or not len(images):
        raise ValueError(f"images must be one or more pictures (B, C, H, W), got shape {tuple(images.shape)}")
    if kind == "patches" and by is not None:
        raise ValueError("by must be left out if kind is 'patches': nothing replaces a hidden patch")
    if kind != "patches" and block != 1:
        raise ValueError(f"block must be left out if kind is {kind!r}: only patches have blocks")
    if isinstance(by, torch.Tensor) and (by.ndim != 4 or len(by) not in (1, len(images))):
        count = " or ".join(map(str, sorted({1, len(images)})))
        raise ValueError(
            f"by must be another picture, or one for each, ({count}, C, H, W), got shape {tuple(by.shape)}"
        )
    if isinstance(of, (list, tuple)) and (len(of) != len(images) or not all(map(callable, of))):
        raise ValueError(f"of must be one function, or a function for each of {len(images)} pictures, got {shown(of)}")


def _shape(baseline: Baseline, kind: str, block: int) -> tuple[int, ...]:
    # That of `Effects.values`.
    layers = len(baseline.seen.description.blocks)
    if kind == "heads":
        _, cache = run_with_cache(baseline.model, baseline.images[:1], ["blocks.*.heads"])
        counts = [one.shape[1] for one in cache.values()]
        if len(set(counts)) > 1:
            raise ValueError(
                f"layers have different numbers of heads, {counts}, but a table needs the same number in all layers"
            )
        return layers, counts[0]
    if kind == "patches":
        rows, columns = baseline.tokens.grid
        return -(-rows // block), -(-columns // block)
    return (layers, len(BRANCHES)) if kind == "branches" else (layers,)


def _changes(baseline: Baseline, kind: str, shape: tuple[int, ...], by: By | None, block: int) -> list[Intervention]:
    # In the order of `Effects.values`.
    by = ("token mean" if kind == "heads" else "zero") if by is None else by
    if kind == "heads":
        return [without_head(layer, head, by) for layer in range(shape[0]) for head in range(shape[1])]
    if kind == "patches":
        return [hide(part) for part in blocks_of(baseline.tokens.grid, block)]
    if kind == "layers":
        return [without_layer(layer, by) for layer in range(shape[0])]
    return [without_branch(layer, branch, by) for layer in range(shape[0]) for branch in BRANCHES]


def blocks_of(grid: tuple[int, int], side: int) -> list[list[int]]:
    """Returns the patches of each block of side x side, row by row; the last ones in a row or column may be smaller."""
    patches = torch.arange(grid[0] * grid[1]).view(grid)
    return [part.flatten().tolist() for band in patches.split(side) for part in band.split(side, dim=1)]


def _size(before: torch.Tensor, after: torch.Tensor, of: Of) -> torch.Tensor:
    # (n, D) twice, or (n,) twice for a function -> (n,)
    before, after = before.double(), after.double()
    if not isinstance(of, str) and not is_int(of):
        return after - before
    if of != "logits":
        return 1 - F.cosine_similarity(before, after, dim=1)
    if (before == before[:, :1]).all(dim=1).any():
        raise ValueError(
            "the logits of a picture are all equal, as those of a head that is not trained, so a change has no size "
            "relative to them: measure a token, such as of='class token', or a function of your own"
        )
    before, after = (x - x.mean(dim=1, keepdim=True) for x in (before, after))
    return (after - before).norm(dim=1) / before.norm(dim=1)
