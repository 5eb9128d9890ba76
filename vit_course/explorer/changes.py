"""Computes how a model's output changes when parts of it are removed, for the explorer's "Test it"."""

import json
import sys
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from tqdm import tqdm

from vit_course._support.inputs.rules import one_of, shown
from vit_course.maps.active_interventions import unrecorded
from vit_course.maps.interventions.effect_baseline import Baseline
from vit_course.maps.interventions.effects import blocks_of
from vit_course.maps.interventions.indices import ALL
from vit_course.maps.interventions.intervene import intervene
from vit_course.maps.interventions.intervention import Intervention
from vit_course.maps.interventions.make_interventions import hide, without_branch, without_head
from vit_course.maps.run_model import evaluated

Change = list[dict]  # interventions in the form of live/change.js, such as {"kind": "head", "layer": 3, "head": 4}
FAMILY = one_of("token mean", "zero", "patches")
BATCH = 16  # changes that run at once
MOST_BLOCKS = 100  # of patches that are hidden together; effects.js forms the same blocks


def intervention(one: dict) -> Intervention:
    """Converts an intervention that the page asks for into one of `vit_course.maps`.

    Raises:
        TypeError, ValueError: an unknown or invalid intervention.
    """
    if one.get("kind") == "head":
        return without_head(one["layer"], one["head"], one.get("by", "token mean"))
    if one.get("kind") == "branch":
        return without_branch(one["layer"], one["branch"])
    if one.get("kind") == "hide":
        return hide(one["patches"], one.get("layers", ALL))
    raise ValueError(f"an intervention is of the kind head, branch or hide, got {shown(one)}")


def family(name: str, layers: int, heads: int, grid: tuple[int, int]) -> list[Change]:
    """Returns a family of changes: each head replaced by "token mean" or "zero", or each block of "patches" hidden.

    Blocks are b x b patches, row by row, smaller at the right and the lower edge; b is the smallest side that gives at
    most 100 blocks.
    """
    if name != "patches":
        places = product(range(layers), range(heads))
        return [[{"kind": "head", "layer": layer, "head": head, "by": name}] for layer, head in places]
    (rows, columns), side = grid, 1
    while -(-rows // side) * -(-columns // side) > MOST_BLOCKS:
        side += 1
    return [[{"kind": "hide", "patches": block}] for block in blocks_of(grid, side)]


def need_families(effects: object) -> tuple[str, ...]:
    """Returns the families of changes that `explore` is to compute at once.

    Raises:
        ValueError: an unknown family.
    """
    if isinstance(effects, bool):
        return ("token mean",) if effects else ()
    for name in (names := effects if isinstance(effects, (list, tuple)) else [effects]):
        FAMILY("effects", name)
    return tuple(names)


def key(change: Change) -> str:
    """Returns the name of a change, the same text as JSON.stringify gives in the browser."""
    return json.dumps(change, separators=(",", ":"))


class Changes:
    """Runs a model on one picture with changes, on demand, and keeps the results.

    Args:
        model, images: (1, C, H, W), as the model takes them.
        see: runs the model, with the interventions that are active, and returns arguments of an `AttentionExplorer`.

    `known` holds the results so far by the `key` of each change: {"row": (T,) as from `turned`, "says": the predictions
    of the changed model, if they were asked for}.
    """

    def __init__(self, model: nn.Module, images: torch.Tensor, see: Callable[[], dict]):
        self.model, self.images, self.see = model, images, see
        self.known: dict[str, dict[str, Any]] = {}
        self._baseline: Baseline | None = None

    def turned(self, changes: Sequence[Change], progress: bool = False) -> np.ndarray:
        """Returns (n, T): for each of n changes, 1 - cos(before, after) of every token at the end of the model.

        Args:
            changes: each has at least one intervention.
            progress: whether to show a progress bar on standard output.
        """
        asked = [change for change in changes if key(change) not in self.known]
        with tqdm(total=len(asked), desc="effects", leave=False, file=sys.stdout, disable=not progress) as bar:
            for start in range(0, len(asked), BATCH):
                some = asked[start : start + BATCH]
                self._compute(some)
                bar.update(len(some))
        return np.stack([self.known[key(change)]["row"] for change in changes])

    def panel(self, change: Change) -> dict:
        """Runs the changed model and returns arguments of an `AttentionExplorer`."""
        with torch.no_grad(), intervene(self.model, [intervention(one) for one in change]):
            seen = self.see()
        self.known[key(change)]["says"] = seen["says"]
        return seen

    @torch.no_grad()
    def _compute(self, changes: list[Change]) -> None:
        with evaluated(self.model), unrecorded():
            if self._baseline is None:
                first = next(self.model.parameters(), self.images)
                self._baseline = Baseline(self.model, self.images.to(first.device, first.dtype), "tokens")
            made = [[intervention(one) for one in change] for change in changes]
            after = self._baseline.changed(made)  # (n, T, D)
        rows = 1 - F.cosine_similarity(self._baseline.end.double(), after.double(), dim=-1)
        for change, row in zip(changes, rows.float().cpu().numpy(), strict=True):
            self.known[key(change)] = {"row": row}
