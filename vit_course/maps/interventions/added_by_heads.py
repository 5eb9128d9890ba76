"""What each head adds to the tokens, through its part of the output projection, in a model of any library."""

import torch
from torch import nn

from vit_course._support.inputs.tensors import check_floats, check_module
from vit_course.maps.active_interventions import unrecorded
from vit_course.maps.interventions.activation_cache import EMBEDDINGS, run_with_cache
from vit_course.maps.interventions.indices import ALL
from vit_course.maps.interventions.intervene import intervene
from vit_course.maps.interventions.intervention import Intervention, RunningLayer
from vit_course.maps.models.description import need_description
from vit_course.maps.run_model import check_evaluated, run

Cache = dict[str, torch.Tensor]


def cached(model: nn.Module, images: torch.Tensor, *places: str) -> tuple[Cache, int]:
    """(B, C, H, W) -> the activations at these places of each layer, and the embeddings; the number L of layers

    Raises:
        TypeError, ValueError: as `run_with_cache`; or a model in training mode.
    """
    check_module("model", model)
    check_floats("images", images)
    check_evaluated(model)
    with unrecorded():
        cache = run_with_cache(model, images, [EMBEDDINGS, *(f"blocks.*.{place}" for place in places)])[1]
    return cache, len(need_description(model).blocks)


def through_projections(
    model: nn.Module, images: torch.Tensor, heads: list[torch.Tensor], cache: Cache
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """L of (B, h, T, d) -> L of (B, h, T, D), L of (B, T, D)

    What each of these head outputs adds to the tokens by itself, and what the attention adds without any. This needs no
    names of modules: everything after the heads is linear except for a bias, so the model runs with all heads but one
    at zero. Then the branch is replaced by its true value, so that the next layer sees the same tokens as before.

    Args:
        model, images: as in `run_with_cache`.
        heads: the outputs of the heads of each layer.
        cache: has the attention of each layer, from these images.

    Raises:
        ValueError: layers with different numbers of heads.
    """
    counts = sorted({one.shape[1] for one in heads})
    if len(counts) > 1:
        raise ValueError(
            f"layers have different numbers of heads, {counts}, but a table needs the same number in all layers"
        )
    found: list[list[torch.Tensor]] = []

    def put(x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        alone = torch.arange(counts[0], device=x.device) == len(found) - 1
        return heads[at.index].to(x) * alone[:, None, None]

    def hear(x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        found[-1].append(x.detach().clone())
        return cache[f"blocks.{at.index}.attention"]

    changes = [Intervention("one head", "heads", ALL, put), Intervention("one head", "attention", ALL, hear)]
    with unrecorded(), intervene(model, changes):
        for _ in range(counts[0] + 1):  # the last time none is left
            found.append([])
            run(model, images)
    bias = found.pop()
    added = [torch.stack(every, dim=1) for every in zip(*found, strict=True)]
    return [f - zero[:, None] for f, zero in zip(added, bias, strict=True)], bias


def check_sum(what: str, found: torch.Tensor, true: torch.Tensor) -> None:
    """Checks that parts add up to the whole, as far as the numbers are exact.

    Raises:
        ValueError: they do not.
    """
    if not is_close(found, true):
        raise ValueError(f"{what}, so it cannot be divided into parts that add up to it")


def is_close(found: torch.Tensor, true: torch.Tensor) -> bool:
    """Whether two tensors are equal as far as the numbers are exact, measured by the largest of them."""
    slack = min(max(1e4 * torch.finfo(true.dtype).eps, 1e-9), 0.05)
    return bool((found - true).abs().max() <= slack * true.abs().max())
