"""Of the families: what is missing, odd or another model, and which of those can still be looked into."""

import re

import pytest
import timm
import torch
import transformers
from conftest import cases
from families import HUGGINGFACE, OF_HUGGINGFACE, OF_TIMM, config, timm_vit
from torch import nn

from vit_course import pretrained
from vit_course.maps.recording import record_attention

pytestmark = pytest.mark.slow


@pytest.mark.thorough
@cases("name", ["DeiT III", "DINOv2 with registers", "distilled DeiT", "CLIP", "SigLIP",
                                  "mean before the norm"])  # fmt: skip
def test_every_key_and_shape_of_a_family_is_needed(name):
    case = OF_TIMM[name]
    state = case.make(**case.options).state_dict()
    may_go = {"cls_token", "reg_token", "dist_token", "norm_pre.weight", "fc_norm.weight", "head.weight"}
    for key, value in state.items():
        if key not in may_go:
            with pytest.raises(ValueError, match=r"^key '[\w.]+' is (missing|left over)"):
                pretrained.load_timm({other: state[other] for other in state if other != key}, **case.said)
        for wrong in (value[..., 1:], torch.zeros(*value.shape, 2), value.double()):
            with pytest.raises(ValueError, match=r"^key '[\w.]+' has (shape|dtype|\d+ rows)|give num_heads$"):
                pretrained.load_timm({**state, key: wrong}, **case.said)
        odd = value.clone()
        odd.view(-1)[0] = torch.nan
        with pytest.raises(ValueError, match=rf"^key '{re.escape(key)}' holds nan"):
            pretrained.load_timm({**state, key: odd}, **case.said)


OF_TIMM_ALONE = [
    (lambda: timm_vit(global_pool="max"), "global_pool is 'max', and our ViT does not do that"),
    (lambda: timm_vit(global_pool="avg", pool_include_prefix=True), "reads the class token and the registers together"),
    (lambda: timm_vit(block_fn=timm.models.vision_transformer.ResPostBlock), "have a ResPostBlock where our ViT has"),
    (lambda: timm_vit(mlp_layer=timm.layers.GluMlp), "have a GluMlp where our ViT has a Mlp"),
    (lambda: timm_vit(act_layer="relu"), "the activation is 'ReLU', and our ViT has a GELU only"),
    (lambda: timm_vit(final_norm=False), r"key 'norm\.weight' is missing"),
    (lambda: timm_vit(proj_bias=False), r"attn\.proj\.bias' is missing"),
    (lambda: nn.Linear(2, 3), "or timm's model itself, not a Linear"),
    (lambda: OF_HUGGINGFACE["ViT"].make(), "this is a ViTForImageClassification, and of timm only"),
    (lambda: timm.create_model("swin_tiny_patch4_window7_224", embed_dim=12, depths=(1, 1, 1, 1)), "Swin"),
]
OF_HUGGINGFACE_ALONE = [
    (lambda: transformers.Dinov2Model(config("Dinov2", use_swiglu_ffn=True)), "its MLP is a SwiGLU, as in DINOv2's"),
    (lambda: transformers.ViTModel(config("ViT", hidden_act="relu")), "the activation is 'relu'"),
    (lambda: transformers.ViTModel(config("ViT", pooler_act="relu")), "pooler_act must be 'tanh', got 'relu'"),
    (lambda: transformers.ViTForMaskedImageModeling(config("ViT", encoder_stride=7)), "a ViTForMaskedImageModeling"),
    (lambda: transformers.BeitModel(transformers.BeitConfig(**HUGGINGFACE)), "this is a BeitModel, .*maps can still"),
    (timm_vit, "this is a VisionTransformer, which has no config of Hugging Face"),
    (lambda: nn.Linear(2, 3), "or Hugging Face's model itself, not a Linear"),
]


def test_models_that_ours_is_not():
    for load, rows in (
        (pretrained.load_timm, OF_TIMM_ALONE),
        (pretrained.load_huggingface, OF_HUGGINGFACE_ALONE),
    ):
        for make, message in rows:
            with pytest.raises(ValueError, match=message):
                load(make())


def test_weights_whose_blocks_may_be_of_two_kinds():
    kinds = timm.models.vision_transformer
    plain, after = (
        timm_vit(qkv_bias=False, class_token=False, global_pool="avg", block_fn=block)
        for block in (kinds.Block, kinds.ResPostBlock)
    )
    assert plain.state_dict().keys() == after.state_dict().keys()
    with pytest.raises(ValueError, match=r"those of a vit_\*_gap or of a vit_\*_rpn, .*: give the model itself"):
        pretrained.load_timm(after.state_dict(), num_heads=3)
    assert pretrained.load_timm(plain).config.norm_pooled


def test_dinov2s_giant_is_refused_by_name():
    giant = timm_vit(mlp_layer=timm.layers.SwiGLUPacked, init_values=0.1, num_classes=0)
    with pytest.raises(ValueError, match="twice as many as go on: a SwiGLU, as in DINOv2's giant"):
        pretrained.load_timm(giant.state_dict(), num_heads=3)


SIZES = {"image_size": 32, "patch_size": 8, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
         "intermediate_size": 30}  # fmt: skip
# What is refused though each of its layers looks at the whole picture.
STILL_RECORDED = {
    "a BEiT": (pretrained.load_timm, lambda: timm.create_model("beit_base_patch16_224", img_size=32, embed_dim=24,
                                                               num_heads=2, depth=2)),
    "an EVA or": (pretrained.load_timm, lambda: timm.create_model("eva02_tiny_patch14_224", img_size=28, depth=2)),
    "DINOv3": (pretrained.load_timm, lambda: timm.create_model("vit_small_patch16_dinov3", img_size=32, depth=2)),
    "a hybrid": (pretrained.load_timm, lambda: timm.create_model("vit_tiny_r_s16_p8_224", img_size=32, depth=2)),
    "norms its queries and keys": (pretrained.load_timm, lambda: timm_vit(qk_norm=True)),
    "BEiT": (pretrained.load_huggingface, lambda: transformers.BeitModel(transformers.BeitConfig(
        **{**SIZES, "image_size": 32}))),
    "DINOv3, or another": (pretrained.load_huggingface, lambda: transformers.DINOv3ViTModel(
        transformers.DINOv3ViTConfig(**SIZES))),
    "giant": (pretrained.load_huggingface, lambda: transformers.Dinov2Model(config("Dinov2", use_swiglu_ffn=True))),
    "an I-JEPA": (pretrained.load_huggingface, lambda: transformers.IJepaModel(transformers.IJepaConfig(**SIZES))),
}  # fmt: skip


@cases("kind", STILL_RECORDED)
@torch.no_grad()
def test_what_is_refused_by_its_name_can_still_be_recorded_where_that_is_said(kind):
    load, make = STILL_RECORDED[kind]
    theirs = make().eval()
    with pytest.raises(
        ValueError, match=rf"\(it looks like .*{kind}.*; its attention maps can still be recorded from the"
    ):
        load(theirs.state_dict())
    with pytest.raises(ValueError, match=r"this is a|where our ViT has|can still be recorded"):
        load(theirs)
    side = getattr(getattr(theirs, "config", None), "image_size", None) or theirs.patch_embed.img_size[0]
    if hasattr(theirs, "set_attn_implementation"):
        theirs.set_attn_implementation("eager")
    with record_attention(theirs) as maps:
        theirs(torch.randn(1, 3, side, side))
    rows = maps.stacked().sum(dim=-1)
    torch.testing.assert_close(rows, torch.ones_like(rows), atol=1e-4, rtol=0)


def test_of_windows_nothing_is_promised():
    theirs = timm.create_model("swin_tiny_patch4_window7_224", embed_dim=12, depths=(1, 1, 1, 1))
    with pytest.raises(ValueError, match=r"it looks like a Swin Transformer\)$"):
        pretrained.load_timm(theirs.state_dict())
