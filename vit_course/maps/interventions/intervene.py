"""Changes what a model computes while a with block runs; the model itself is not changed."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from vit_course._support.inputs.rules import shown
from vit_course._support.inputs.tensors import check_module
from vit_course.maps.active_interventions import active, active_mode
from vit_course.maps.hooks import hooked
from vit_course.maps.interventions.intervention import Intervention
from vit_course.maps.interventions.intervention_hooks import InterventionHooks
from vit_course.maps.models.description import need_description
from vit_course.maps.run_model import UNCOMPILED, check_not_checkpointed


@contextmanager
def intervene(model: nn.Module, interventions: Sequence[Intervention]) -> Iterator[nn.Module]:
    """Changes what `model` computes while the with block runs; the model itself is not changed.

    Several interventions are applied in their order, and with blocks can be nested. Autograd follows the changes.
    `record_attention`, inside this block or around it, records the weights that were used. All hooks are removed at
    the end, even after an exception. Only this model is changed, and only in the thread that opened the block.

    Args:
        model: ours, torchvision's, timm's, Hugging Face's, vit-pytorch's, or one of a class that `describe` has made
            known; tokens (B, T, D) go in and out of its layers.
        interventions: made by `without_head`, `replaced`, `reweighted`, `without_branch`, `without_neurons`,
            `without_layer`, `hide`, `cut` or `patched`.

    Yields:
        The model.

    Raises:
        TypeError: not a module, or not an intervention.
        ValueError: a model that nobody has described, a layer that it does not have, or activation checkpointing.
            When the model runs: an index of a head, patch or token that it does not have; or a layer that computes in a
            way that cannot be changed.
    """
    check_module("model", model)
    if not isinstance(interventions, Iterable):
        raise TypeError(f"interventions must be a list, such as [without_head(0, 1)], got {shown(interventions)}")
    interventions = list(interventions)
    for one in interventions:
        if not isinstance(one, Intervention):
            raise TypeError(f"interventions must be made by without_head, hide and so on, got {shown(one)}")
    description = need_description(model)
    if torch.is_grad_enabled():
        check_not_checkpointed(model)
    if (outer := active_mode(description.inside)) is not None:  # it stands back while this block runs
        interventions = [*outer.interventions, *interventions]
    hooks = InterventionHooks(description, interventions, {} if outer is None else dict(outer.learned))
    with hooked(hooks.all()), UNCOMPILED, active(hooks.mode):
        hooks.learn()
        yield model
