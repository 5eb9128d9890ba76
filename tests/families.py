"""Tiny models of every family that can be loaded, made by timm and transformers, with no weight that is zero or one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import timm
import torch
import transformers
from timm.layers import QuickGELU
from timm.models.deit import VisionTransformerDistilled
from torch import nn

TIMM = dict(img_size=21, patch_size=7, depth=3, num_heads=3, embed_dim=36, mlp_ratio=2, num_classes=5)
HUGGINGFACE = dict(image_size=21, patch_size=7, num_hidden_layers=2, num_attention_heads=3, hidden_size=36,
                   num_labels=5)  # fmt: skip
EPSILON = partial(nn.LayerNorm, eps=1e-5)
TEXT = dict(hidden_size=36, intermediate_size=20, num_hidden_layers=1, num_attention_heads=3, vocab_size=50,
            bos_token_id=0, eos_token_id=1, pad_token_id=1)  # fmt: skip


def timm_vit(kind=timm.models.VisionTransformer, **options) -> nn.Module:
    return kind(**TIMM | options)


@dataclass
class OfTimm:
    """How a model of timm is made, and the facts about it that its state dict does not contain."""

    make: Callable[..., nn.Module] = timm_vit
    options: dict = field(default_factory=dict)
    said: dict = field(default_factory=lambda: {"num_heads": 3})
    alone: bool = True  # whether its state dict is enough for everything else


HEADLESS = {"num_classes": 0}
MEAN = {"class_token": False, "global_pool": "avg"}
SCALED = {"init_values": 1e-3}
TOKEN, AVERAGE = {"num_heads": 3, "pool": "cls"}, {"num_heads": 3, "pool": "mean"}  # what the head reads
OF_TIMM = {
    "ViT": OfTimm(said=TOKEN),
    "DINO, MAE": OfTimm(options=HEADLESS),
    "distilled DeiT": OfTimm(partial(timm_vit, VisionTransformerDistilled)),
    "DeiT III": OfTimm(options={**SCALED, "no_embed_class": True}, said=TOKEN),
    "DINOv2": OfTimm(options={**SCALED, **HEADLESS}),
    "DINOv2 with registers": OfTimm(options={**SCALED, **HEADLESS, "reg_tokens": 4, "no_embed_class": True}),
    "registers, a head": OfTimm(options={**SCALED, "reg_tokens": 2, "no_embed_class": True}, said=TOKEN),
    "registers with positions": OfTimm(options={**SCALED, "reg_tokens": 3}, said=TOKEN),
    "mean before the norm": OfTimm(options={"global_pool": "avg"}, said=AVERAGE),
    "mean before the norm, no class token": OfTimm(options=MEAN, said=AVERAGE),
    "mean before the norm, no head": OfTimm(options={**MEAN, **HEADLESS}, said={"num_heads": 3, "gelu": "none"}),
    "mean, registers": OfTimm(options={**MEAN, **SCALED, "reg_tokens": 4, "no_embed_class": True}, said=AVERAGE),
    "mean after the norm, class token": OfTimm(options={"global_pool": "avg", "fc_norm": False}, said=AVERAGE),
    "mean after the norm": OfTimm(options={**MEAN, "fc_norm": False}, said=AVERAGE),
    "CLIP": OfTimm(options={"pre_norm": True, "norm_layer": EPSILON}, said={**TOKEN, "gelu": "none"}),
    "CLIP, quick": OfTimm(options={"pre_norm": True, "norm_layer": EPSILON, "act_layer": QuickGELU},
                          said={**TOKEN, "gelu": "quick"}),
    "SigLIP": OfTimm(options={**MEAN, "global_pool": "map", **HEADLESS, "act_layer": "gelu_tanh"},
                     said={"num_heads": 3, "gelu": "tanh"}),
    "SigLIP, a head and registers": OfTimm(options={**MEAN, "global_pool": "map", "reg_tokens": 2},
                                           said={"num_heads": 3, "gelu": "none"}),
    "SigLIP, mean": OfTimm(options={**MEAN, **HEADLESS, "fc_norm": False, "act_layer": "gelu_tanh"},
                           said={"num_heads": 3, "gelu": "tanh"}),
    "other heads, epsilon and GELU": OfTimm(options={"num_heads": 9, "norm_layer": partial(nn.LayerNorm, eps=0.03),
                                                     "act_layer": "gelu_tanh"}, alone=False),
    "oblong": OfTimm(options={"img_size": (14, 28), "reg_tokens": 4, "no_embed_class": True, **SCALED}, alone=False),
    "4 channels": OfTimm(options={"in_chans": 4, "qkv_bias": False, **SCALED}, said=TOKEN),
}  # fmt: skip


def config(kind: str, **options) -> transformers.PretrainedConfig:
    sizes = dict(HUGGINGFACE) | ({"mlp_ratio": 2} if "Dinov2" in kind else {"intermediate_size": 20})
    return getattr(transformers, f"{kind}Config")(**sizes | options)


def clip(**options) -> transformers.PretrainedConfig:
    return config("CLIPVision", projection_dim=11, **options)


def both(kind: str, vision: transformers.PretrainedConfig, **options) -> transformers.PretrainedConfig:
    return getattr(transformers, f"{kind}Config")(vision_config=vision.to_dict(), text_config=TEXT, **options)


@dataclass
class OfHuggingFace:
    """How a model of Hugging Face is made, and the facts about it that its state dict does not contain."""

    kind: str
    config: Callable[[], transformers.PretrainedConfig]
    said: dict = field(default_factory=lambda: {"num_heads": 3})
    options: dict = field(default_factory=dict)
    alone: bool = True
    processor: str = "ViT"

    def make(self) -> nn.Module:
        return getattr(transformers, self.kind)(self.config(), **self.options)


QUICK = {"num_heads": 3, "gelu": "quick"}
UNUSUAL = dict(num_attention_heads=9, hidden_act="gelu_new", layer_norm_eps=0.03)
MAE = dict(mask_ratio=0.0, decoder_num_attention_heads=2, decoder_hidden_size=16, decoder_num_hidden_layers=1,
           decoder_intermediate_size=12)  # fmt: skip
OF_HUGGINGFACE = {
    "ViT": OfHuggingFace("ViTForImageClassification", lambda: config("ViT")),
    "ViT, unusual": OfHuggingFace("ViTForImageClassification", lambda: config("ViT", **UNUSUAL), alone=False),
    "ViT, the backbone": OfHuggingFace("ViTModel", lambda: config("ViT")),
    "DINO": OfHuggingFace("ViTModel", lambda: config("ViT"), options={"add_pooling_layer": False}),
    "DeiT": OfHuggingFace("DeiTForImageClassification", lambda: config("DeiT"), processor="DeiT"),
    "DeiT, the backbone": OfHuggingFace("DeiTModel", lambda: config("DeiT"), processor="DeiT"),
    "distilled DeiT": OfHuggingFace("DeiTForImageClassificationWithTeacher", lambda: config("DeiT"), processor="DeiT"),
    "DINOv2": OfHuggingFace("Dinov2Model", lambda: config("Dinov2"), processor="Bit"),
    "DINOv2, a head": OfHuggingFace("Dinov2ForImageClassification", lambda: config("Dinov2"), processor="Bit"),
    "DINOv2, unusual": OfHuggingFace("Dinov2Model", lambda: config("Dinov2", **UNUSUAL), alone=False, processor="Bit"),
    "DINOv2 with registers": OfHuggingFace(
        "Dinov2WithRegistersModel", lambda: config("Dinov2WithRegisters", num_register_tokens=3), processor="Bit"
    ),
    "DINOv2 with registers, a head": OfHuggingFace(
        "Dinov2WithRegistersForImageClassification", lambda: config("Dinov2WithRegisters"), processor="Bit"
    ),
    "MAE": OfHuggingFace("ViTMAEModel", lambda: config("ViTMAE", **MAE)),
    "MAE with its decoder": OfHuggingFace("ViTMAEForPreTraining", lambda: config("ViTMAE", **MAE)),
    "CLIP": OfHuggingFace("CLIPVisionModel", clip, QUICK, processor="CLIP"),
    "CLIP, GELU": OfHuggingFace("CLIPVisionModel", lambda: clip(hidden_act="gelu"), {"num_heads": 3, "gelu": "none"},
                                processor="CLIP"),
    "CLIP, projection": OfHuggingFace("CLIPVisionModelWithProjection", clip, QUICK, processor="CLIP"),
    "CLIP, pictures and text": OfHuggingFace("CLIPModel", lambda: both("CLIP", clip(), projection_dim=11), QUICK,
                                             processor="CLIP"),
    "SigLIP": OfHuggingFace("SiglipVisionModel", lambda: config("SiglipVision"), processor="Siglip"),
    "SigLIP, no pooling": OfHuggingFace("SiglipVisionModel", lambda: config("SiglipVision", vision_use_head=False),
                                        processor="Siglip"),
    "SigLIP, classes": OfHuggingFace(
        "SiglipForImageClassification", lambda: both("Siglip", config("SiglipVision"), num_labels=5),
        processor="Siglip",
    ),
    "SigLIP, pictures and text": OfHuggingFace("SiglipModel", lambda: both("Siglip", config("SiglipVision")),
                                               processor="Siglip"),
}  # fmt: skip


def of_huggingface(model: nn.Module, images: torch.Tensor) -> dict[str, torch.Tensor]:
    """The library's own outputs: features after the last norm, the pooled output, and logits where there is a head."""
    kind = type(model).__name__
    base = getattr(model, "vision_model", getattr(model, model.base_model_prefix, model))
    order = {"noise": torch.arange(9.0).expand(len(images), -1)} if "MAE" in kind else {}  # without it, shuffled
    out = base(images, **order)
    features = base.post_layernorm(out.last_hidden_state) if "CLIP" in kind else out.last_hidden_state
    found = {"features": features}
    if getattr(out, "pooler_output", None) is not None:
        found["pooled"] = out.pooler_output
    if "ForImageClassification" in kind:
        found["logits"] = model(images).logits
    if kind == "CLIPVisionModelWithProjection":
        found["logits"] = model(images).image_embeds
    if kind == "CLIPModel":
        found["logits"] = model.visual_projection(out.pooler_output)
    return found
