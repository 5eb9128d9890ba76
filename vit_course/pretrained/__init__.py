"""Trained weights for our ViT: the course's own, and those of torchvision, timm, Hugging Face and vit-pytorch."""

from vit_course.pretrained.activations import stages
from vit_course.pretrained.bundled import load, load_run
from vit_course.pretrained.compare import Comparison, first_difference
from vit_course.pretrained.convert import (
    load_huggingface,
    load_timm,
    load_torchvision,
    load_vit_pytorch,
    resize,
)
from vit_course.pretrained.export import to_huggingface, to_timm, to_torchvision, to_vit_pytorch
from vit_course.pretrained.preprocessing import Preprocessing
from vit_course.pretrained.pretrained_model import Pretrained, none_fits
from vit_course.pretrained.probing import class_tokens, fit_linear_head, with_head

__all__ = [
    "Comparison",
    "Preprocessing",
    "Pretrained",
    "class_tokens",
    "first_difference",
    "fit_linear_head",
    "load",
    "load_huggingface",
    "load_run",
    "load_timm",
    "load_torchvision",
    "load_vit_pytorch",
    "none_fits",
    "resize",
    "stages",
    "to_huggingface",
    "to_timm",
    "to_torchvision",
    "to_vit_pytorch",
    "with_head",
]
