"""The gradients of a logit with respect to the attention weights of all layers."""

from collections.abc import Sequence

import torch
from torch import nn

from vit_course._support.inputs.tensors import check_axes, check_module, check_tensor, need_finite
from vit_course.maps.call_recording import CallRecording
from vit_course.maps.models.description import find_description
from vit_course.maps.recorded_attention import RecordedAttention
from vit_course.maps.recording import RecordedMaps
from vit_course.maps.run_model import check_not_checkpointed, logits_of


def attention_gradients(
    model: nn.Module, images: torch.Tensor, classes: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """(B, C, H, W), (B,) -> (B, L, h, T, T), (B, L, h, T, T)

    The attention weights, and the gradient of one logit of each image with respect to them. The model may be frozen,
    and the call may be inside `no_grad` or `inference_mode`.

    Args:
        model: as `record_attention` takes it.
        images: as the model takes them.
        classes: the index of one logit for each image, int64.

    Raises:
        TypeError: not a module, or not a tensor.
        ValueError: as `RecordedMaps.stacked`; or the logits do not depend on the weights, the model gives no logits, or
            a class is out of range.
    """
    check_module("model", model)
    check_tensor("images", images)
    check_axes("classes", classes, "(B,)")
    if any(parameter.is_inference() for parameter in model.parameters()):
        raise ValueError(
            "the model was made inside torch.inference_mode, so autograd cannot follow it: make it outside"
        )
    check_not_checkpointed(model)
    description = find_description(model)
    recorded = CallRecording(model, description, step_by_step=True)
    with torch.inference_mode(False), torch.enable_grad():
        # In a frozen model only the images require gradients. Clones, as autograd refuses inference tensors.
        images, classes = images.clone().requires_grad_(images.is_floating_point()), classes.clone()
        with recorded.watching():
            logits = need_finite("logits", logits_of(model(images)))  # (B, num_classes)
        RecordedMaps(model, description, recorded).stacked()  # raises if the maps are not whole
        by_layer = recorded.by_layer()
        if len(by_layer[0]) > 1:
            raise ValueError("the model runs its layers several times for one call: give the model inside")
        parts = [layer[0].parts for layer in by_layer]
        weights = [part.computed() for layer in parts for part in layer]
        check_classes(classes, logits)
        picked = logits.gather(1, classes[:, None]).sum()  # images are independent: one backward pass for all
        try:
            slopes = torch.autograd.grad(picked, weights)
        except RuntimeError as error:
            raise ValueError(
                "autograd finds no path from the logits to the attention weights, for example because they are "
                "detached, or behind activation checkpointing"
            ) from error
    stacked, gradients = (_by_layer(parts, values) for values in (weights, slopes))
    return stacked.detach(), need_finite("gradients", gradients)


def _by_layer(parts: list[Sequence[RecordedAttention]], values: Sequence[torch.Tensor]) -> torch.Tensor:
    # One tensor for each part of each layer, (B, h, T, T) or (B, T, T) -> (B, L, h, T, T)
    rest = iter(values)
    layers = [torch.cat([next(rest).view(part.shape) for part in layer], dim=1) for layer in parts]
    return torch.stack(layers, dim=1)


def check_classes(classes: torch.Tensor, logits: torch.Tensor) -> None:
    """Checks that classes (B,) are indices of logits (B, num_classes), one for each image.

    Raises:
        ValueError: more or fewer classes than images, another dtype or device, or an index out of range.
    """
    if len(classes) != len(logits):
        raise ValueError(f"there are {len(logits)} images but {len(classes)} classes: one for each image is needed")
    if classes.dtype != torch.int64 or classes.device != logits.device:
        raise ValueError(f"classes must be torch.int64 on {logits.device}, got {classes.dtype} on {classes.device}")
    if classes.min() < 0 or classes.max() >= logits.shape[1]:
        raise ValueError(
            f"classes must be from 0 to {logits.shape[1] - 1}, got {int(classes.min())} to {int(classes.max())}"
        )
