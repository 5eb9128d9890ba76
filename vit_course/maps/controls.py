"""What a number about attention maps is compared with: random weights, shuffled patches, permuted labels."""

import copy

import torch
from torch import nn

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.tensors import check_axes, check_module, check_numbers
from vit_course.patches import patchify, unpatchify


def random_weights(model: nn.Module, seed: int = 0) -> nn.Module:
    """A copy of the model that knows nothing: the numbers of each parameter, put in a random order.

    So each layer has weights of the size that training gave them, and a map that differs from the trained model's
    differs by what the weights know, not by how large they are.

    Args:
        model: any module; it is not changed.
        seed: of the order, an int from 0 to 2^32 - 1.

    Raises:
        TypeError: not a module.
        ValueError: an invalid seed.

    Source: the control is Adebayo et al. 2018 (arXiv:1810.03292), section 3; they draw new numbers.
    """
    check_module("model", model)
    check_arguments(seed=seed)
    generator = torch.Generator().manual_seed(seed)
    copied = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in copied.parameters():
            order = torch.randperm(parameter.numel(), generator=generator).to(parameter.device)
            parameter.copy_(parameter.flatten()[order].view_as(parameter))
    return copied


def shuffle_patches(images: torch.Tensor, patch_size: int, order: torch.Tensor) -> torch.Tensor:
    """(B, C, H, W), (B, N) -> (B, C, H, W)

    Each image with its patches in another order: patch n of the result is patch `order[b, n]` of image b. Masks,
    (B, 1, H, W), can be shuffled in the same order.

    Args:
        images: of any type.
        patch_size: P, in pixels.
        order: the numbers 0 to N - 1 in each row, such as `torch.rand(B, N).argsort(dim=1)`.

    Raises:
        TypeError: not tensors.
        ValueError: sides that P does not divide, or an order of another shape than (B, N) or with a row that is not
            each of the numbers 0 to N - 1 once.
    """
    patches = patchify(images, patch_size)  # (B, N, P*P*C)
    check_axes("order", order, "(B, N)")
    if order.shape != patches.shape[:2]:
        raise ValueError(f"order has shape {tuple(order.shape)}, but {tuple(patches.shape[:2])} is needed")
    if order.dtype != torch.int64 or order.device != images.device:
        raise ValueError(f"order must be torch.int64 on {images.device}, got {order.dtype} on {order.device}")
    check_numbers("order", order)
    if not torch.equal(order.sort(dim=1).values, torch.arange(order.shape[1], device=order.device).expand_as(order)):
        raise ValueError(f"each row of order must hold each of the numbers 0 to {order.shape[1] - 1} once")
    moved = patches.gather(1, order[:, :, None].expand_as(patches))  # (B, N, P*P*C)
    return unpatchify(moved, patch_size, (images.shape[2], images.shape[3]))


def permute_labels(labels: torch.Tensor, seed: int = 0) -> torch.Tensor:
    """(B,) -> (B,): as many of each class, given to other images. A model can learn these only by heart.

    Args:
        labels: one per image.
        seed: of the order, an int from 0 to 2^32 - 1.

    Raises:
        TypeError: not a tensor.
        ValueError: not one axis, or an invalid seed.

    Source: Adebayo et al. 2018 (arXiv:1810.03292), section 4.
    """
    check_axes("labels", labels, "(B,)")
    check_arguments(seed=seed)
    return labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))]
