"""Logit lens: a model's own last norm and head, applied after every layer."""

import torch
from torch import nn

from vit_course._support.inputs.tensors import check_floats, check_module, need_finite
from vit_course.maps.active_interventions import unrecorded
from vit_course.maps.interventions.added_by_heads import is_close
from vit_course.maps.interventions.forward_pass import ForwardPass
from vit_course.maps.run_model import check_evaluated, logits_of, run


@torch.no_grad()
def logit_lens(model: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """(B, C, H, W) -> (B, L + 1, num_classes)

    The logits after each layer, as if no further layer followed: what follows the layers, such as the last norm and
    the head, reads the tokens that enter the first layer and those that leave each layer. The last logits are the
    model's own.

    Args:
        model: any with layers that `intervene` finds, and a head.
        images: as the model takes them.

    Raises:
        TypeError: not a module.
        ValueError: a model without such layers or without logits, or one whose head reads more than the last tokens.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens" (LessWrong), for language models; for Vision
    Transformers Vilas, Schaumlöffel & Roig 2023 (arXiv:2310.18969).
    """
    check_module("model", model)
    check_floats("images", images)
    check_evaluated(model)
    seen = ForwardPass(model)
    with seen.listening():
        logits = logits_of(run(model, images))
    return need_finite("logits", lens_of(seen, images, logits))


def lens_of(seen: ForwardPass, images: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    """(B, C, H, W) -> (B, L + 1, num_classes), as `logit_lens`, from a forward pass that gave these logits.

    Raises:
        ValueError: as `logit_lens`.
    """
    tokens = torch.stack(seen.tokens(), dim=1)  # (B, L + 1, T, D)
    try:
        with unrecorded():
            lens = logits_of(seen.read(images, tokens.flatten(0, 1))).unflatten(0, tokens.shape[:2])
    except (RuntimeError, TypeError, IndexError) as error:
        raise ValueError(
            f"what follows the layers reads more than their tokens, so it has no logit lens: {error}"
        ) from error
    if not is_close(lens[:, -1], logits):
        raise ValueError("the head reads more than the tokens after the last layer, so it has no logit lens")
    return lens
