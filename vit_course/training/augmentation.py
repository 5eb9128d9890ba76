"""torchvision's RandAugment and mixup, each with a random number of its own."""

import torch

from vit_course._support.inputs.extras import extra


def rand_augment(images: torch.Tensor, seeds: torch.Tensor, magnitude: int) -> torch.Tensor:
    """(B, C, H, W) uint8, (B,) -> (B, C, H, W) uint8: each image after two operations that its seed decides."""
    change = _transforms().RandAugment(magnitude=magnitude)
    return torch.stack([_seeded(seed, change, image) for seed, image in zip(seeds, images, strict=True)])


def mix_up(images: torch.Tensor, labels: torch.Tensor, seed: torch.Tensor, alpha: float, num_classes: int):
    """(B, C, H, W), (B,) -> (B, C, H, W), (B, K): each image with the one before it, all in one proportion."""
    return _seeded(seed, _transforms().MixUp(alpha=float(alpha), num_classes=num_classes), images, labels)


def _transforms():
    with extra("train", "augmentation by RandAugment or mixup"):
        from torchvision.transforms import v2
    return v2


def _seeded(seed: torch.Tensor, transform, *values):
    # torchvision draws from the CPU's global generator, of which dropout needs the state as it was. Not by
    # `torch.manual_seed`, which would seed every other device too.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed.item())
        return transform(*values)
