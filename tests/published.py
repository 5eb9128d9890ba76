"""Tiny models made by the libraries themselves, of odd sizes, with all weights random, none zero or one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import timm
import torch
import torchvision
import transformers
import vit_pytorch
from torch import nn

from vit_course import pretrained
from vit_course.vit import ViT

LAYERS, HEADS, WIDTH, CLASSES, PATCH = 3, 3, 36, 5, 7


def shaken(model: nn.Module) -> nn.Module:
    """Sets all parameters, also of norms and biases, at random, so that a swapped or missing one shows."""
    with torch.no_grad():
        for parameter in model.parameters():
            width = parameter.shape[1:].numel() if parameter.ndim in (2, 4) else 6
            parameter.normal_(0.5 if parameter.ndim == 1 else 0.0, width**-0.5)
    return model.eval()


def torchvision_vit(image_size=3 * PATCH, **options):
    return torchvision.models.VisionTransformer(
        image_size=image_size, patch_size=PATCH, num_layers=LAYERS, num_heads=HEADS, hidden_dim=WIDTH, mlp_dim=20,
        num_classes=CLASSES, **options,
    )  # fmt: skip


def timm_vit(image_size=3 * PATCH, **options):
    return timm.models.VisionTransformer(
        img_size=image_size, patch_size=PATCH, depth=LAYERS, num_heads=HEADS, embed_dim=WIDTH, mlp_ratio=2,
        num_classes=CLASSES, **options,
    )  # fmt: skip


def deit(**options):
    return timm.create_model("deit_tiny_patch16_224", img_size=48, depth=2, num_classes=CLASSES, **options)


def huggingface_vit(kind=transformers.ViTForImageClassification, image_size=3 * PATCH, model=(), **options):
    config = transformers.ViTConfig(
        image_size=image_size, patch_size=PATCH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        hidden_size=WIDTH, intermediate_size=20, num_labels=CLASSES, **options,
    )  # fmt: skip
    return kind(config, **dict(model))


def vit_pytorch_vit(image_size=3 * PATCH, **options):
    sizes = {"dim": WIDTH, "depth": LAYERS, "heads": HEADS, "dim_head": WIDTH // HEADS, "mlp_dim": 20}
    return vit_pytorch.ViT(image_size=image_size, patch_size=PATCH, num_classes=CLASSES, **(sizes | options))


@dataclass
class Published:
    """How a library's model is made, read into ours and written back."""

    make: Callable[..., nn.Module]
    load: Callable[..., ViT]
    export: Callable[[ViT], dict]
    heads: int = HEADS
    options: dict = field(default_factory=dict)
    load_options: dict = field(default_factory=dict)
    shape: tuple[int, int, int] = (3, 3 * PATCH, 3 * PATCH)
    rename: Callable[[dict], dict] = dict

    def theirs(self, dtype=torch.float32) -> nn.Module:
        return shaken(self.make(**self.options)).to(dtype)

    def ours(self, theirs: nn.Module) -> ViT:
        return self.load(self.rename(theirs.state_dict()), num_heads=self.heads, **self.load_options)

    def images(self, dtype=torch.float32) -> torch.Tensor:
        return torch.randn(2, *self.shape, dtype=dtype)


def logits(model: nn.Module, images: torch.Tensor) -> torch.Tensor:
    out = model(images)
    return out if isinstance(out, torch.Tensor) else out.logits


OLD_NAMES = (
    ("vit.layers.", "vit.encoder.layer."),
    (".attention.q_proj.", ".attention.attention.query."),
    (".attention.k_proj.", ".attention.attention.key."),
    (".attention.v_proj.", ".attention.attention.value."),
    (".attention.o_proj.", ".attention.output.dense."),
    (".mlp.fc1.", ".intermediate.dense."),
    (".mlp.fc2.", ".output.dense."),
)


def old_huggingface_names(state: dict) -> dict:
    """As version 4 of transformers wrote them."""
    for new, old in OLD_NAMES:
        state = {key.replace(new, old): value for key, value in state.items()}
    return state


def old_torchvision_names(state: dict) -> dict:
    """As in torchvision's published files."""
    rename = {".mlp.0.": ".mlp.linear_1.", ".mlp.3.": ".mlp.linear_2."}
    for new, old in rename.items():
        state = {key.replace(new, old): value for key, value in state.items()}
    return state


FROM_TORCHVISION = partial(Published, torchvision_vit, pretrained.load_torchvision, pretrained.to_torchvision)
FROM_TIMM = partial(Published, timm_vit, partial(pretrained.load_timm, pool="cls"), pretrained.to_timm)
FROM_HUGGINGFACE = partial(Published, huggingface_vit, pretrained.load_huggingface, pretrained.to_huggingface)
FROM_VIT_PYTORCH = partial(Published, vit_pytorch_vit, pretrained.load_vit_pytorch, pretrained.to_vit_pytorch)
SIZE = 3 * PATCH

PUBLISHED = {
    "torchvision": FROM_TORCHVISION(),
    "torchvision, pre-logits": FROM_TORCHVISION(options={"representation_size": 11}),
    "torchvision, first names": FROM_TORCHVISION(rename=old_torchvision_names),
    "timm": FROM_TIMM(),
    "timm, mean": FROM_TIMM(options={"class_token": False, "global_pool": "avg", "fc_norm": False}),
    "timm, no qkv bias, 1 channel": FROM_TIMM(options={"qkv_bias": False, "in_chans": 1}, shape=(1, SIZE, SIZE)),
    "timm, DeiT": FROM_TIMM(shape=(3, 48, 48)),
    "Hugging Face": FROM_HUGGINGFACE(),
    "Hugging Face, no qkv bias, 1 channel": FROM_HUGGINGFACE(
        options={"qkv_bias": False, "num_channels": 1}, shape=(1, SIZE, SIZE)
    ),
    "Hugging Face, old names": FROM_HUGGINGFACE(rename=old_huggingface_names),
    "vit-pytorch": FROM_VIT_PYTORCH(),
    "vit-pytorch, mean": FROM_VIT_PYTORCH(options={"pool": "mean"}),
    "vit-pytorch, 1 channel": FROM_VIT_PYTORCH(
        options={"channels": 1}, load_options={"in_channels": 1}, shape=(1, SIZE, SIZE)
    ),
}
PUBLISHED["timm, DeiT"].make = deit
PUBLISHED["timm, mean"].load = partial(pretrained.load_timm, pool="mean")
