"""Where do two models first differ? Ours, or those of torchvision, timm, Hugging Face and vit-pytorch."""

import copy
import sys
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from vit_course._support.inputs.rules import real
from vit_course.pretrained.activations import any_stages, check_images, known_library
from vit_course.pretrained.fold_weights import fold_scales, put_tokens_together
from vit_course.pretrained.hyperparameters import Hyperparameters
from vit_course.pretrained.libraries import ParameterNames


class Stage(NamedTuple):
    """One row of a comparison: the largest difference, infinite if the shapes differ."""

    name: str
    difference: float
    shapes: tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Comparison:
    """Two models compared stage by stage: printed, it says where they first differ; `table()` shows every stage.

    Args:
        stages: in running order, those that both models show.
        tolerance: the largest difference that counts as none.
    """

    stages: tuple[Stage, ...]
    tolerance: float

    @property
    def first(self) -> Stage | None:
        """The first stage that differs, or None."""
        return next((stage for stage in self.stages if not self._same(stage)), None)

    @property
    def agreeing(self) -> int:
        """How many stages come before the first that differs."""
        return self.stages.index(self.first) if self.first else len(self.stages)

    def table(self) -> str:
        """Every stage, its largest difference and whether it is the same, as lines of text."""
        width = max(len(stage.name) for stage in self.stages)
        lines = [f"{'stage':<{width}}  largest difference"]
        for stage in self.stages:
            verdict = "same" if self._same(stage) else "DIFFERS"
            lines.append(f"{stage.name:<{width}}  {stage.difference:18.1e}  {verdict}")
        return "\n".join(lines)

    def __str__(self) -> str:
        before = self.stages[: self.agreeing]
        within = f"to within {max((stage.difference for stage in before), default=0):.1e}"
        if self.first is None:
            return f"the models agree in all {len(before)} stages, {within}"
        name, difference, (ours, theirs) = self.first
        how = f"by up to {difference:.1e}" if ours == theirs else f"in shape, {ours} and {theirs}"
        count = "the 1 stage before agrees" if len(before) == 1 else f"the {len(before)} stages before agree"
        return f"the models first differ at {name!r}, {how}; " + (
            f"{count}, {within}" if before else "nothing is before"
        )

    def _same(self, stage: Stage) -> bool:
        return stage.difference <= self.tolerance


def first_difference(ours: nn.Module, theirs: nn.Module, images: torch.Tensor, tolerance: float = 1e-9) -> Comparison:
    """Runs both models on the same images and compares the output of each part.

    It runs copies, in eval mode, on the CPU and in float64, where rounding stays far below the tolerance, so any
    difference is a bug. The models are not changed.

    Args:
        ours, theirs: two models of the kinds that `stages` takes; they may be of the same kind.
        images: (B, C, H, W); one or two are enough.
        tolerance: the largest difference of two numbers that counts as none.

    Raises:
        ValueError: models of different depth or made for images of different size, a tolerance that is not a number of
            at least 0, or as `stages`.
    """
    real(0.0, sys.float_info.max)("tolerance", tolerance)
    check_images(images)
    _check_sizes(ours, theirs, images)
    images = images.detach().to("cpu", torch.float64)
    first, second = (any_stages(_exact(model), images) for model in (ours, theirs))
    rows = []
    for name in (name for name in first if name in second):
        a, b = first[name], second[name]
        difference = (a - b).abs().max().item() if a.shape == b.shape else float("inf")
        rows.append(Stage(name, difference, (tuple(a.shape), tuple(b.shape))))
    return Comparison(tuple(rows), tolerance)


def _exact(model: nn.Module) -> nn.Module:
    model = copy.deepcopy(model).cpu().eval()
    _round_as_ours(known_library(model), model)
    model = model.to(torch.float64)
    if callable(choose := getattr(model, "set_attn_implementation", None)):
        choose("sdpa")  # Hugging Face's eager softmax is float32 whatever the model is
    return model


def _round_as_ours(library: ParameterNames, model: nn.Module) -> None:
    # Folding has rounded our weights to their dtype. This copy is rounded likewise, or float64 would show a difference.
    theirs = model.state_dict()  # shares the memory of the model
    ours, key_of_table = dict(theirs), library.tokens["positions.table"]
    if fold_scales(library, ours):
        for key, value in theirs.items():
            value.copy_(ours.get(key, torch.ones(())))
    extra = [key for name in ("distillation", "registers.tokens") if (key := library.tokens.get(name, "")) in theirs]
    counts = [theirs[key].shape[1] for key in extra]
    put_tokens_together(library, ours, Hyperparameters())
    if extra and theirs[key_of_table].shape[-2] - ours[key_of_table].shape[-2] == sum(counts):
        for key, tokens in zip(extra, ours[library.tokens["registers.tokens"]].split(counts, dim=1), strict=True):
            theirs[key].copy_(tokens)
        first = int(library.tokens["class_token.token"] in theirs)
        theirs[key_of_table][:, first : first + sum(counts)] = 0.0


def _check_sizes(ours: nn.Module, theirs: nn.Module, images: torch.Tensor) -> None:
    models = [(known_library(model), dict(model.state_dict())) for model in (ours, theirs)]
    first, second = (library.depth(state) for library, state in models)
    if first != second:
        raise ValueError(f"the models have {first} and {second} blocks: only models of the same depth can be compared")
    for library, state in models:  # prefix tokens have a row in the table in some families only
        kernel = state[library.keys("patch_embedding.projection.weight")[0]]
        grid = (images.shape[2] // kernel.shape[2], images.shape[3] // kernel.shape[3]) if kernel.ndim == 4 else None
        put_tokens_together(library, state, Hyperparameters(grid=grid))
    for ours_key, what in (("patch_embedding.projection.weight", "patch embeddings"), ("positions.table", "positions")):
        keys = [library.keys(ours_key)[0] for library, _ in models]
        shapes = [
            tuple(state[key].squeeze(0).shape) for key, (_, state) in zip(keys, models, strict=True) if key in state
        ]
        if len(set(shapes)) > 1:
            raise ValueError(
                f"the {what} have shapes {shapes[0]} and {shapes[1]}: only models for images and patches of one size "
                "can be compared, and of one width"
            )
