"""Maps and models to record maps of: for record, class_map, rollout and predict."""

import torch
from torch import nn

from vit_course.config import ViTConfig
from vit_course.vit import ViT


def uneven_maps(draw, *shape: int) -> torch.Tensor:
    """Attention weights (*shape, last of shape), uneven enough that no mistake hides in the rounding."""
    return (2 * draw.normal(*shape, shape[-1])).softmax(dim=-1)


def small_model(draw, grid: tuple[int, int], layers: int, heads: int, width: int, dropout: float = 0.0) -> ViT:
    """A ViT in eval mode for images of `grid` patches, its heads `width` wide, filled by `fill`."""
    patch = 2
    model = ViT(
        ViTConfig(
            image_size=(grid[0] * patch, grid[1] * patch),
            patch_size=patch,
            num_classes=4,
            hidden_dim=heads * width,
            mlp_dim=11,
            num_layers=layers,
            num_heads=heads,
            dropout=dropout,
        )
    )
    fill(draw, model)
    return model.eval()


def fill(draw, module: nn.Module) -> None:
    """Draws all parameters anew.

    An untrained model gives nearly even maps; with parameters of this size its maps and logits differ clearly.
    """
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.5 * draw.normal(*parameter.shape))
