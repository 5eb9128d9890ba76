"""Value-weighted attention: the length of what each token adds to each other one."""

import torch
from torch import nn

from vit_course._support.inputs.tensors import need_finite
from vit_course.maps.interventions.added_by_heads import cached, check_sum, through_projections


@torch.no_grad()
def value_weighted(model: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """(B, C, H, W) -> (B, L, h, T, T)

    The length of what token j adds to token i through a head: `||a_ij v_j W||`, where a_ij is the attention weight, v_j
    the value of token j, and W the head's part of the output projection with what scales it, such as LayerScale. A
    weight can be large while its value is small. Takes h + 2 forward passes.

    Args:
        model: as in `intervene`, in eval mode.
        images: as the model takes them.

    Raises:
        TypeError, ValueError: as `intervene`; a model in training mode; or one whose attention adds something else than
            a sum over heads and tokens, as where a norm follows the heads.

    Source: Kobayashi et al. 2020 (arXiv:2004.10102), section 3.
    """
    cache, layers = cached(model, images, "weights", "values", "attention")
    values = [cache[f"blocks.{layer}.values"] for layer in range(layers)]
    weights = [cache[f"blocks.{layer}.weights"].to(v) for layer, v in enumerate(values)]
    # Several heads of queries may share one of values.
    values = [v.repeat_interleave(a.shape[1] // v.shape[1], dim=1) for a, v in zip(weights, values, strict=True)]
    added, bias = through_projections(model, images, values, cache)
    lengths = []
    for layer, (a, f) in enumerate(zip(weights, added, strict=True)):  # (B, h, T, T), (B, h, T, D)
        what = f"the attention of layer {layer} is not the sum of what its heads read from each token"
        check_sum(what, (a @ f).sum(dim=1) + bias[layer], cache[f"blocks.{layer}.attention"])
        lengths.append(a * f.norm(dim=-1)[:, :, None])
    return need_finite("the lengths", torch.stack(lengths, dim=1))
