"""Mean activations: one run of a model over pictures, for ablation by the mean over a data set."""

import sys
from collections.abc import Sequence
from functools import partial

import torch
from torch import nn
from tqdm import tqdm

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.rules import one_of
from vit_course._support.inputs.tensors import check_axes, check_floats, check_module, check_numbers, need_finite
from vit_course.maps.active_interventions import unrecorded
from vit_course.maps.interventions.indices import ALL
from vit_course.maps.interventions.intervene import intervene
from vit_course.maps.interventions.intervention import Intervention, RunningLayer
from vit_course.maps.interventions.stored_means import MeanActivations
from vit_course.maps.models.description import need_description
from vit_course.maps.run_model import check_evaluated, run

PLACES = ("heads", "attention", "mlp", "layer", "weights")
PLACE = one_of(*PLACES, "queries", "keys", "values", "neurons")


def mean_activations(
    model: nn.Module,
    images: torch.Tensor,
    places: Sequence[str] = PLACES,
    batch_size: int = 16,
    progress: bool = True,
) -> MeanActivations:
    """(N, C, H, W) -> `MeanActivations`

    The means of what a model computes over pictures of a data set, position by position: a head's mean output has one
    vector for each of the T tokens. `without_head(3, 1, by=means)`, and everything else that takes `by`, uses them to
    replace what the model computes for a picture (mean ablation). What is the same for all pictures is kept, and what
    distinguishes this picture is lost; "token mean" keeps only what all tokens of the one picture share, and "zero"
    nothing.

    The means are those of the model as it is now: after further training, they have to be computed again.

    Args:
        model: as in `intervene`, in eval mode; interventions that are active take part.
        images: pictures of the data set, as the model takes them.
        places: where; by default "heads", "attention", "mlp", "layer" and "weights", and there are "queries", "keys",
            "values" and "neurons". In a model with parallel branches, for example, no "mlp" can be separated
            from the attention; and the weights are large, L h T^2 numbers.
        batch_size: how many pictures run at once.
        progress: a bar on standard output.

    Raises:
        TypeError, ValueError: as `intervene`; or images that are not (N, C, H, W), a model in training mode, an unknown
            place, one that the model does not have, or activations that are not finite.

    Source: Wang et al. 2022 (arXiv:2211.00593), who take the mean over a reference distribution.
    """
    check_module("model", model)
    check_floats("images", images)
    check_axes("images", images, "(N, C, H, W)")
    check_numbers("images", images)
    check_arguments(batch_size=batch_size, progress=progress)
    if not len(images):
        raise ValueError("images must be at least one picture, got none")
    places = (places,) if isinstance(places, str) else tuple(dict.fromkeys(places))
    if not places:
        raise ValueError("places must be at least one, got none")
    for place in places:
        PLACE("places", place)
    check_evaluated(model)
    layers = tuple(need_description(model).blocks.values())
    sums: dict[str, list[torch.Tensor]] = {place: [] for place in places}
    reading = [
        Intervention(f"mean_activations of {one!r}", one, ALL, partial(_add, sums[one]), only_reads=True)
        for one in places
    ]
    bar = tqdm(total=len(images), desc="pictures", leave=False, file=sys.stdout, disable=not progress)
    with torch.no_grad(), unrecorded(), intervene(model, reading), bar:
        for batch in images.split(batch_size):
            run(model, batch)
            bar.update(len(batch))
    means = {place: [need_finite("mean activations", x / len(images)) for x in sums[place]] for place in places}
    return MeanActivations(means, len(images), (images.shape[2], images.shape[3]), layers)


def _add(sums: list[torch.Tensor], x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
    # Adds the values of a batch (B, ...) to the sum of this layer; half precision is added up in single precision.
    total = x.sum(dim=0, dtype=torch.promote_types(x.dtype, torch.float32))
    if at.index == len(sums):
        sums.append(total)
    else:
        sums[at.index] += total
    return x
