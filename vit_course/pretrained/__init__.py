"""Trained weights for our ViT: the course's own, and those of torchvision, timm, Hugging Face and vit-pytorch."""

from vit_course.pretrained.convert import (
    load_huggingface,
    load_timm,
    load_torchvision,
    load_vit_pytorch,
    resize,
    to_huggingface,
    to_timm,
    to_torchvision,
    to_vit_pytorch,
)
from vit_course.pretrained.shipped import load

__all__ = [
    "load",
    "load_huggingface",
    "load_timm",
    "load_torchvision",
    "load_vit_pytorch",
    "resize",
    "to_huggingface",
    "to_timm",
    "to_torchvision",
    "to_vit_pytorch",
]
