"""State dicts of other architectures: the first error says what each is, whoever has named its weights."""

import re

import published
import pytest
import timm
import torch
import torchvision
import transformers
import vit_pytorch
from published import PUBLISHED

from vit_course import pretrained
from vit_course.config import ViTConfig
from vit_course.vit import ViT

SMALL = dict(image_size=8, patch_size=4, num_classes=5, hidden_dim=24, num_layers=2, num_heads=3, mlp_dim=20)
TINY = {
    **{"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 1, "intermediate_size": 30},
    **{"image_size": 32, "patch_size": 8},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "load, make, message",
    [
        (
            pretrained.load_timm,
            lambda: timm.create_model("swin_tiny_patch4_window7_224", embed_dim=12, depths=(1, 1, 1, 1)),
            "'pos_embed' is missing .*a Swin Transformer",
        ),
        (
            pretrained.load_torchvision,
            lambda: torchvision.models.SwinTransformer([4, 4], 12, [1, 1], [1, 2], [7, 7]),
            "not the state dict of a torchvision ViT .*a Swin Transformer",
        ),
        (
            pretrained.load_huggingface,
            lambda: transformers.SwinModel(transformers.SwinConfig(embed_dim=12, depths=[1, 1], num_heads=[1, 2])),
            "'embeddings.position_embeddings' is missing .*a Swin Transformer",
        ),
        (pretrained.load_timm, lambda: timm.create_model("resnet18"), "not the state dict of a timm ViT .*a ResNet"),
        (
            pretrained.load_torchvision,
            torchvision.models.resnet18,
            "'conv_proj.weight' is missing: this is not the state dict of a torchvision ViT .*a ResNet",
        ),
        (pretrained.load_timm, lambda: published.timm_vit(qk_norm=True), "'blocks.0.attn.q_norm.weight' is left over"),
        (
            pretrained.load_huggingface,
            lambda: transformers.BertModel(transformers.BertConfig(vocab_size=50, **TINY)),
            "is missing: this is not the state dict of a Hugging Face ViT .*such as BERT",
        ),
        (pretrained.load_timm, published.torchvision_vit, r"not .* a timm ViT \(its names are those of torchvision\)"),
        (pretrained.load_torchvision, published.huggingface_vit, r"\(its names are those of Hugging Face\)"),
        (pretrained.load_huggingface, published.timm_vit, r"\(its names are those of timm\)"),
        (pretrained.load_vit_pytorch, lambda: ViT(ViTConfig(**SMALL)), r"\(its names are those of vit_course\)"),
        (
            pretrained.load_vit_pytorch,
            lambda: vit_pytorch.SimpleViT(
                image_size=14, patch_size=7, num_classes=5, dim=36, depth=1, heads=3, mlp_dim=20
            ),
            "key 'pos_embedding' is missing",
        ),
        (
            pretrained.load_timm,
            lambda: published.timm_vit((14, 21)),
            r"'pos_embed' has shape \(1, 7, 36\): 7 rows are not one for a class token and a square number of patches, "
            r"\(1, 5, 36\) would be$",
        ),
    ],
)
def test_other_architectures_are_named(load, make, message):
    with pytest.raises(ValueError, match=message):
        load(make().state_dict(), 3)


# As the authors' own code names them; timm's and Hugging Face's models are made.
ORIGINAL = {
    "BEiT": ["blocks.0.gamma_1", "rel_pos_bias.relative_position_bias_table", "patch_embed.proj.weight"],
    "Swin Transformer": ["layers.0.blocks.0.attn.relative_position_bias_table", "patch_embed.proj.weight"],
    "Swin Transformer V2": ["layers.0.blocks.0.attn.cpb_mlp.0.weight", "layers.0.blocks.0.attn.logit_scale"],
    "DINOv2's giant": ["mask_token", "blocks.0.ls1.gamma", "blocks.0.norm1.weight", "blocks.0.mlp.w12.weight"],
    "DINOv3": ["storage_tokens", "rope_embed.periods", "blocks.0.ls1.gamma", "cls_token"],
    "EVA-02": ["blocks.0.attn.rope.freqs_cos", "blocks.0.mlp.w1.weight", "pos_embed"],
    "CLIP": ["visual.conv1.weight", "visual.class_embedding", "visual.transformer.resblocks.0.attn.in_proj_weight"],
    "SAM": ["image_encoder.blocks.0.attn.rel_pos_h", "image_encoder.neck.0.weight"],
    "ViTDet": ["backbone.net.blocks.0.attn.rel_pos_h", "backbone.simfp_2.0.weight"],
    "ConvNeXt": ["downsample_layers.0.0.weight", "stages.0.0.dwconv.weight", "stages.0.0.gamma"],
    "PVT": ["patch_embed1.proj.weight", "block1.0.attn.sr.weight", "pos_embed1"],
    "CaiT": ["blocks_token_only.0.gamma_1", "blocks.0.attn.proj_l.weight"],
    "DINO with its training head": ["module.head.last_layer.weight_g", "module.backbone.cls_token"],
}


@pytest.mark.parametrize("kind", ORIGINAL)
@pytest.mark.parametrize("prefix", ["", "module."])
def test_the_names_of_the_authors_own_code(kind, prefix):
    state = {prefix + key: torch.ones(3, 3) for key in ORIGINAL[kind]}
    for load in (pretrained.load_timm, pretrained.load_huggingface, pretrained.load_torchvision):
        with pytest.raises(ValueError, match=rf"\(it looks like .*{kind}"):
            load(state)


TIMM_KINDS = {
    "beit_base_patch16_224": "BEiT",
    "vit_small_patch16_dinov3": "DINOv3",
    "eva_giant_patch14_224": "EVA",
    "eva02_tiny_patch14_224": "EVA-02",
    "swinv2_tiny_window8_256": "Swin Transformer V2",
    "convnext_atto": "ConvNeXt",
    "mobilevit_xxs": "MobileViT",
    "pvt_v2_b0": "PVT",
    "cait_xxs24_224": "CaiT",
    "xcit_nano_12_p16_224": "XCiT",
    "samvit_base_patch16": "SAM",
    "hiera_tiny_224": "Hiera",
    "levit_128s": "LeViT",
    "vit_small_r26_s32_224": "hybrid",
    "mixer_s32_224": "Mixer",
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", TIMM_KINDS)
def test_models_of_timm_are_named(name):
    with torch.device("meta"):
        shapes = {key: value.shape for key, value in timm.create_model(name).state_dict().items()}
    # Views of one number: the sizes are the published ones, the memory is not.
    state = {key: torch.ones(()).expand(shape) for key, shape in shapes.items()}
    with pytest.raises(ValueError, match=rf"\(it looks like .*{TIMM_KINDS[name]}") as caught:
        pretrained.load_timm(state)
    assert "give num_" not in str(caught.value)


HUGGINGFACE_KINDS = {
    "BeitForImageClassification": "BEiT",
    "Data2VecVisionModel": "Data2Vec",
    "IJepaForImageClassification": "I-JEPA",
    "VitDetModel": "ViTDet",
    "YolosModel": "YOLOS",
    "ViTForMaskedImageModeling": "masked patches",
}


@pytest.mark.parametrize("name", HUGGINGFACE_KINDS)
def test_models_of_hugging_face_are_named(name):
    config = re.sub("(For|Model).*", "", name) + "Config"
    sizes = {**TINY, "image_size": [32, 32]} if name == "YolosModel" else TINY
    model = getattr(transformers, name)(getattr(transformers, config)(**sizes))
    with pytest.raises(ValueError, match=rf"\(it looks like .*{HUGGINGFACE_KINDS[name]}") as caught:
        pretrained.load_huggingface(model.state_dict())
    assert "give num_" not in str(caught.value)


@pytest.mark.parametrize("prefix", ["module.", "model.", "module.backbone.", "_orig_mod."])
@pytest.mark.parametrize("name", ["torchvision", "timm", "Hugging Face", "vit-pytorch"])
def test_a_prefix_is_named(name, prefix):
    state = {prefix + key: value for key, value in PUBLISHED[name].theirs().state_dict().items()}
    with pytest.raises(ValueError, match=rf"is missing: .* \(its names begin with '{prefix}': take that away"):
        PUBLISHED[name].load(state, 3)
