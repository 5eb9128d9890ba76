"""A cache of what a model computes in its layers, by name."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import nn

from vit_course._support.inputs.rules import shown
from vit_course._support.inputs.tensors import check_floats, check_module
from vit_course.maps.interventions.intervene import intervene
from vit_course.maps.interventions.intervention import Intervention, RunningLayer
from vit_course.maps.models.description import need_description
from vit_course.maps.run_model import run

PLACES = ("queries", "keys", "values", "weights", "heads", "attention", "neurons", "mlp")
EMBEDDINGS = "embeddings"


def run_with_cache(
    model: nn.Module, images: torch.Tensor, names: Sequence[str] | None = None
) -> tuple[Any, dict[str, torch.Tensor]]:
    """(B, C, H, W) -> what the model returns, and a cache: the name of an activation -> its value

    The names are the same for every model, with l from 0 to L - 1:

    - "embeddings", (B, T, D): the tokens that enter the first layer, with their positions.
    - "blocks.l.queries", "blocks.l.keys" and "blocks.l.values", (B, h, T, d), as `replaced` has them.
    - "blocks.l.weights", (B, h, T, T): the attention weights.
    - "blocks.l.heads", (B, h, T, d): the weights times the values.
    - "blocks.l.attention" and "blocks.l.mlp", (B, T, D): what the two branches add to the tokens.
    - "blocks.l.neurons", (B, T, M): what enters the last linear layer of the MLP.
    - "blocks.l", (B, T, D): the tokens that leave the layer.

    They are recorded where interventions change them. Inside `intervene`, the cache holds the values after the changes.
    Its tensors are copies without gradients.

    Args:
        model: as in `intervene`.
        images: as the model takes them.
        names: those that are kept, which may have `*` for anything, such as ["blocks.*.heads", "blocks.11"]. By default
            all, L (h T^2 + T M + ...) numbers for an image.

    Raises:
        TypeError, ValueError: as `intervene`; a name that no activation has; or an activation that this
            model does not show, such as neurons of parallel branches: then give the names of others.

    Source: the function of this name in TransformerLens (Nanda & Bloom 2022).
    """
    check_module("model", model)
    check_floats("images", images)
    cache: dict[str, torch.Tensor] = {}

    def hear(name: str, place: str, layer: int) -> Intervention:
        def keep(x: torch.Tensor, _: RunningLayer) -> torch.Tensor:
            cache[name] = x.detach().clone()  # the model may change it in place
            return x

        return Intervention(f"run_with_cache of {name!r}", place, (layer,), keep, only_reads=True)

    places = _places(len(need_description(model).blocks), names)
    # Applied last, behind the changes of a block around this one.
    with intervene(model, [hear(name, *place) for name, place in places.items()]):
        output = run(model, images)
    return output, {name: cache[name] for name in places}


def _places(count: int, names: Sequence[str] | None) -> dict[str, tuple[str, int]]:
    # The place and the layer of each activation with one of these names, in a model of `count` layers.
    every = {EMBEDDINGS: ("tokens", 0)}
    for layer in range(count):
        every |= {f"blocks.{layer}.{place}": (place, layer) for place in PLACES}
        every[f"blocks.{layer}"] = ("output", layer)
    wanted = ["*"] if names is None else [names] if isinstance(names, str) else list(names)
    for each in wanted:
        if not isinstance(each, str) or not any(fnmatchcase(name, each) for name in every):
            raise ValueError(
                f"names must be those of activations, 'embeddings', 'blocks.0' to 'blocks.{count - 1}', and behind "
                f"these .{', .'.join(PLACES)}, got {shown(each)}"
            )

    return {name: place for name, place in every.items() if any(fnmatchcase(name, each) for each in wanted)}
