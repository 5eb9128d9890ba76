"""Small models of timm, transformers and torchvision, of odd sizes and random weights, and their expected maps.

Each row is a model, the size of its images, and either the names of the tokens before the patches and the patches'
grid, or words of the message with which its maps are refused.
"""

import contextlib
import copy
from collections.abc import Callable
from dataclasses import dataclass
from unittest import mock

import timm
import torch
import torchvision
import transformers
from torch import nn

CLASS, DISTILLED = ("class token",), ("class token", "distillation token")
LAYERS, HEADS = 3, 2
OTHER_TOKENS, WINDOWS, STAGES = "attends from", "sequences, but there are", "of different shapes"
AXES, UNDESCRIBED = "B, h, T, T. is needed", "it is not known where .* keeps its layers"


def registers(count: int) -> tuple[str, ...]:
    return tuple(f"register {number}" for number in range(1, count + 1))


@dataclass
class Architecture:
    """A model, the (H, W) of its images, the tokens before the patches and the grid; or why its maps are refused."""

    make: Callable[[], nn.Module]
    size: tuple[int, int]
    prefix: tuple[str, ...] = ()
    grid: tuple[int, int] | None = None
    refused: str = ""
    layers: int = LAYERS
    heads: int = HEADS


def from_timm(name: str, size: tuple[int, int], *rest, kept: dict | None = None, layers=LAYERS, heads=HEADS, **options):
    sizes = dict(img_size=size, patch_size=8, depth=3, embed_dim=24, num_heads=2) if kept is None else kept
    return Architecture(
        lambda: timm.create_model(name, pretrained=False, num_classes=5, **(sizes | options)), size, *rest,
        layers=layers, heads=heads,
    )  # fmt: skip


def of_stages(name: str, size: tuple[int, int], refused: str, **options):
    return from_timm(name, size, (), None, refused, kept={}, **options)


def from_huggingface(name: str, size: tuple[int, int], *rest, model="Model", **options):
    sizes = dict(image_size=list(size), patch_size=7, num_hidden_layers=3, num_attention_heads=2, hidden_size=24,
                 intermediate_size=20)  # fmt: skip

    def make():
        config = getattr(transformers, f"{name}Config")(**(sizes | options))
        return getattr(transformers, f"{name}{model}")(config)

    return Architecture(make, size, *rest)


def torchvision_vit():
    return torchvision.models.VisionTransformer(21, 7, LAYERS, HEADS, 24, 20, num_classes=5)


SAM = dict(window_size=2, global_attn_indexes=(1,))
ROWS = {
    "torchvision ViT": Architecture(torchvision_vit, (21, 21), CLASS, (3, 3)),
    "torchvision Swin": Architecture(
        lambda: torchvision.models.SwinTransformer([4, 4], 12, [1, 1], [2, 2], [2, 2]), (32, 48), (), None, WINDOWS
    ),
    "timm ViT": from_timm("vit_tiny_patch16_224", (48, 32), CLASS, (6, 4)),
    "timm ViT of another size": from_timm(
        "vit_tiny_patch16_224", (40, 56), CLASS, (5, 7), img_size=(48, 32), dynamic_img_size=True
    ),
    "timm ViT that pads": from_timm(
        "vit_tiny_patch16_224", (43, 50), CLASS, (6, 7), img_size=(48, 32), dynamic_img_size=True, dynamic_img_pad=True
    ),
    "timm registers, no class token": from_timm(
        "vit_base_patch16_reg4_gap_256", (48, 32), registers(3), (6, 4), reg_tokens=3
    ),
    "timm DINOv2 with registers": from_timm("vit_small_patch14_reg4_dinov2", (48, 32), CLASS + registers(4), (6, 4)),
    "timm DINOv3": from_timm("vit_small_patch16_dinov3", (48, 32), CLASS + registers(4), (6, 4)),
    "timm DeiT distilled": from_timm("deit_tiny_distilled_patch16_224", (48, 32), DISTILLED, (6, 4)),
    "timm BEiT": from_timm("beit_base_patch16_224", (48, 32), CLASS, (6, 4)),
    "timm EVA-02": from_timm("eva02_tiny_patch14_224", (48, 32), CLASS, (6, 4)),
    "timm CLIP": from_timm("vit_base_patch16_clip_224", (48, 32), CLASS, (6, 4)),
    "timm SigLIP": from_timm("vit_base_patch16_siglip_224", (48, 32), (), (6, 4)),
    "timm relative positions": from_timm("vit_relpos_small_patch16_224", (48, 32), (), (6, 4)),
    "timm parallel blocks": from_timm("vit_small_patch16_18x2_224", (48, 32), CLASS, (6, 4), heads=2 * HEADS),
    "timm NaFlex": from_timm(
        "naflexvit_base_patch16_gap", (64, 96), registers(4), (4, 6), kept=dict(depth=3, embed_dim=24, num_heads=2)
    ),
    "timm hybrid": from_timm(
        "vit_tiny_r_s16_p8_224", (64, 96), CLASS, (2, 3),
        kept=dict(img_size=(64, 96), depth=3, embed_dim=24, num_heads=2),
    ),
    "timm EfficientFormer": of_stages("efficientformer_l1", (224, 224), UNDESCRIBED),
    "timm SAM": from_timm("samvit_base_patch16_224", (48, 32), (), None, AXES, **SAM),
    "timm XCiT": of_stages("xcit_nano_12_p8_224", (48, 32), UNDESCRIBED, img_size=(48, 32), depth=2, embed_dim=12,
                           num_heads=2),
    "timm CaiT": of_stages("cait_xxs24_224", (48, 32), OTHER_TOKENS, img_size=(48, 32), patch_size=8, depth=2,
                           embed_dim=12, num_heads=2),
    "timm ConViT": of_stages("convit_tiny", (48, 48), STAGES, img_size=48, patch_size=8, depth=3, embed_dim=12,
                             num_heads=2, local_up_to_layer=2),
    "timm CrossViT": of_stages("crossvit_9_240", (240, 240), OTHER_TOKENS),
    "timm PVT": of_stages("pvt_v2_b0", (64, 96), OTHER_TOKENS, depths=(1, 1, 1, 1)),
    "timm VOLO": of_stages("volo_d1_224", (64, 64), AXES, img_size=64),
    "timm Swin": of_stages("swin_tiny_patch4_window7_224", (64, 96), WINDOWS, img_size=(64, 96), depths=(1, 1),
                           embed_dim=12, num_heads=(2, 2), window_size=4),
    "timm MaxViT": of_stages("maxvit_nano_rw_256", (64, 64), WINDOWS, img_size=64),
    "timm CoAtNet": of_stages("coatnet_nano_rw_224", (64, 64), UNDESCRIBED, img_size=64),
    "timm Hiera": of_stages("hiera_tiny_224", (224, 224), AXES, embed_dim=12, num_heads=1, stages=(1, 1, 1, 1)),
    "timm MobileViT": of_stages("mobilevit_xxs", (64, 96), WINDOWS),
    "timm MobileViT V2": of_stages("mobilevitv2_050", (64, 96), "nothing was recorded"),
    "timm Twins": of_stages("twins_svt_small", (64, 64), AXES, img_size=64, depths=(1, 1, 1, 1)),
    "timm MViT": of_stages("mvitv2_tiny", (64, 64), OTHER_TOKENS, img_size=64),
    "timm LeViT": of_stages("levit_128s", (224, 224), OTHER_TOKENS),
    "timm CoaT": of_stages("coat_lite_tiny", (64, 64), OTHER_TOKENS, img_size=64),
    "timm PiT": of_stages("pit_ti_224", (64, 64), STAGES, img_size=64),
    "timm EdgeNeXt": of_stages("edgenext_xx_small", (64, 64), UNDESCRIBED),
    "timm Nest": of_stages("nest_tiny", (224, 224), AXES),
    "timm TNT": of_stages("tnt_s_legacy_patch16_224", (224, 224), WINDOWS, depth=1),
    "timm BoTNet": of_stages("botnet26t_256", (256, 256), AXES),
    "transformers ViT": from_huggingface("ViT", (42, 28), CLASS, (6, 4)),
    "transformers DeiT": from_huggingface("DeiT", (42, 28), DISTILLED, (6, 4)),
    "transformers DINOv2": from_huggingface("Dinov2", (42, 56), CLASS, (6, 8), image_size=42),
    "transformers DINOv2 with registers": from_huggingface(
        "Dinov2WithRegisters", (42, 56), CLASS + registers(3), (6, 8), image_size=42, num_register_tokens=3
    ),
    "transformers DINOv3": from_huggingface("DINOv3ViT", (42, 28), CLASS + registers(2), (6, 4), num_register_tokens=2),
    "transformers BEiT": from_huggingface("Beit", (42, 28), CLASS, (6, 4), use_relative_position_bias=True),
    "transformers I-JEPA": from_huggingface("IJepa", (42, 28), (), (6, 4)),
    "transformers CLIP": from_huggingface("CLIPVision", (42, 42), CLASS, (6, 6), image_size=42),
    "transformers SigLIP": from_huggingface("SiglipVision", (42, 42), (), (6, 6), image_size=42),
    "transformers AIMv2": from_huggingface("Aimv2Vision", (42, 42), (), (6, 6), image_size=42),
    "transformers OWL-ViT": from_huggingface("OwlViTVision", (42, 42), CLASS, (6, 6), image_size=42),
    "transformers ViTPose": from_huggingface("VitPoseBackbone", (42, 28), (), (6, 4), model="", patch_size=[7, 7]),
    "transformers MAE": from_huggingface("ViTMAE", (42, 28), (), None, "at random"),
    "transformers MAE with decoder": from_huggingface(
        "ViTMAE", (42, 42), (), None, "at random", model="ForPreTraining", image_size=42, decoder_num_hidden_layers=2,
        decoder_hidden_size=12, decoder_num_attention_heads=2,
    ),
    "transformers YOLOS": from_huggingface("Yolos", (42, 28), (), None, "nothing says where", num_detection_tokens=5),
    "transformers SAM": from_huggingface("SamVision", (64, 64), (), None, WINDOWS, image_size=64, patch_size=8,
                                         window_size=3, global_attn_indexes=[1], mlp_dim=20, output_channels=8),
    "transformers SegFormer": from_huggingface("Segformer", (64, 64), (), None, OTHER_TOKENS, hidden_sizes=[8] * 4,
                                               num_attention_heads=[1] * 4, depths=[1] * 4),
}  # fmt: skip


def truth(name: str, model: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """(B, L, h, T, T), the maps that the library itself computes: by eager attention, or the input of its dropout."""
    if name.startswith("transformers"):
        config = copy.deepcopy(model.config)
        eager = type(model)._from_config(config, attn_implementation="eager").eval()
        eager.load_state_dict(model.state_dict())
        with torch.no_grad():
            return torch.stack(eager(images, output_attentions=True).attentions, dim=1)
    kept: list[torch.Tensor] = []
    softmax = torch.Tensor.softmax

    def keep(scores, *args, **kwargs):
        kept.append(softmax(scores, *args, **kwargs))
        return kept[-1]

    for layer in model.modules():
        if isinstance(layer, nn.MultiheadAttention):  # torchvision's: a second call returns the weights
            asked = dict(need_weights=True, average_attn_weights=False)
            layer.register_forward_pre_hook(lambda layer, inputs, a=asked: kept.append(layer.forward(*inputs, **a)[1]))
        if hasattr(layer, "fused_attn"):
            layer.fused_attn = False
        if hasattr(layer, "attn_drop"):
            layer.attn_drop.register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0]))
    has_dropout = any(hasattr(layer, "attn_drop") for layer in model.modules())
    with torch.no_grad(), contextlib.nullcontext() if has_dropout else mock.patch.object(torch.Tensor, "softmax", keep):
        model(images)
    return torch.cat(kept, dim=1).unflatten(1, (ROWS[name].layers, ROWS[name].heads))  # parallel attentions as heads
