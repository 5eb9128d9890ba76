"""Every family of published ViTs in ours: the same features and logits; and what is missing, odd or another model."""

import re

import published
import pytest
import timm
import torch
import transformers
from families import OF_HUGGINGFACE, OF_TIMM, config, timm_vit
from published import shaken
from torch import nn

from vit_course import pretrained
from vit_course.maps.recording import record_attention
from vit_course.pretrained.variants import VariantViT

pytestmark = pytest.mark.slow


def close(ours: torch.Tensor, theirs: torch.Tensor, share: float = 1e-4) -> None:
    assert ours.shape == theirs.shape and theirs.std() > 0.01
    assert (ours - theirs).abs().max() <= share * theirs.abs().max()


def images_for(model, batch: int = 2) -> torch.Tensor:
    return torch.randn(batch, model.config.in_channels, *model.config.image_size)


@pytest.mark.parametrize("name", OF_TIMM)
@torch.no_grad()
def test_features_and_logits_of_timm(name):
    case = OF_TIMM[name]
    theirs = shaken(case.make(**case.options))
    ours = pretrained.load_timm(theirs)
    images = images_for(ours)
    assert not ours.training and sum(p.numel() for p in ours.parameters()) == ours.config.num_parameters
    close(ours.features(images), theirs.forward_features(images))
    if theirs.num_classes:
        close(ours(images), theirs(images))
    else:
        with pytest.raises(ValueError, match="the model has no head and gives no logits"):
            ours(images)
        if isinstance(ours, VariantViT):
            close(ours.pooled(ours.features(images)), theirs(images))


@pytest.mark.parametrize(
    "name", ["DINOv2 with registers", "distilled DeiT", "CLIP, quick", "SigLIP", "mean, registers"]
)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@torch.no_grad()
def test_other_dtypes_stay_and_are_folded_in_full_precision(name, dtype):
    case = OF_TIMM[name]
    theirs = shaken(case.make(**case.options)).to(dtype)
    ours = pretrained.load_timm(theirs)
    assert {parameter.dtype for parameter in ours.parameters()} == {dtype}
    images = images_for(ours)
    share = {torch.float64: 1e-12, torch.float16: 4e-3, torch.bfloat16: 3e-2}[dtype]
    close(ours.double().features(images.double()), theirs.double().forward_features(images.double()), share)


def test_layer_scale_is_folded_in_float32():
    theirs = shaken(timm_vit(init_values=0.1)).half()
    layer, factor = theirs.blocks[1].attn.proj, theirs.blocks[1].ls1.gamma.float()
    ours = pretrained.load_timm(theirs).encoder.blocks[1].attention.projection
    assert torch.equal(ours.weight, (layer.weight.float() * factor[:, None]).half())
    assert torch.equal(ours.bias, (layer.bias.float() * factor).half())


@torch.no_grad()
def test_the_files_of_the_authors_have_timms_names():
    # facebookresearch/dinov2 with registers, and facebookresearch/mae with its decoder.
    theirs = shaken(timm_vit(init_values=0.1, reg_tokens=4, no_embed_class=True, num_classes=0))
    state = theirs.state_dict()
    position = torch.randn(1, 1, 36)
    official = {**state, "register_tokens": state["reg_token"], "mask_token": torch.zeros(1, 36)}
    official["pos_embed"] = torch.cat([position, state["pos_embed"]], dim=1)
    official["cls_token"] = state["cls_token"] - position
    del official["reg_token"]
    ours = pretrained.load_timm(official, num_heads=3)
    assert ours.config.num_registers == 4
    images = images_for(ours)
    close(ours.features(images), theirs.forward_features(images))
    mae = shaken(timm_vit(num_classes=0))
    state = {**mae.state_dict(), "mask_token": torch.zeros(1, 1, 16), "decoder_pos_embed": torch.zeros(1, 10, 16)}
    state |= {"decoder_embed.weight": torch.zeros(16, 36), "decoder_blocks.0.norm1.weight": torch.zeros(16)}
    state |= {"decoder_norm.bias": torch.zeros(16), "decoder_pred.bias": torch.zeros(147)}
    close(pretrained.load_timm(state, num_heads=3).features(images), mae.forward_features(images))


@torch.no_grad()
def test_registers_and_the_fold_go_with_another_size():
    theirs = shaken(timm_vit(init_values=0.1, reg_tokens=4, no_embed_class=True, dynamic_img_size=True))
    ours = pretrained.resize(pretrained.load_timm(theirs), (35, 28), antialias=True)
    images = torch.randn(2, 3, 35, 28)
    close(ours.features(images), theirs.forward_features(images))
    case = OF_TIMM["CLIP, quick"]
    theirs = shaken(case.make(**case.options, dynamic_img_size=True))
    ours = pretrained.resize(pretrained.load_timm(theirs), (35, 28), antialias=True)
    assert isinstance(ours, VariantViT)
    close(ours(images), theirs(images))


# ---- what the model says, and what nobody says


def test_the_number_of_heads_is_never_guessed():
    theirs = timm_vit(embed_dim=192, num_heads=1, depth=1)
    with pytest.raises(ValueError, match=r"^the number of heads is not in the weights: give num_heads, or the model"):
        pretrained.load_timm(theirs.state_dict())
    assert pretrained.load_timm(theirs).config.num_heads == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"num_heads": 4}, "num_heads is 4, but the model has 3"),
        ({"gelu": "tanh"}, "gelu is 'tanh', but the model has 'none'"),
        ({"gelu": "relu"}, "gelu must be 'none', 'tanh' or 'quick', got 'relu'"),
    ],
)
def test_a_model_that_says_otherwise_than_the_argument(given, message):
    for load, theirs in (
        (pretrained.load_timm, timm_vit()),
        (pretrained.load_huggingface, OF_HUGGINGFACE["ViT"].make()),
    ):
        with pytest.raises(ValueError, match=message):
            load(theirs, **given)


@pytest.mark.parametrize("name", ["CLIP", "SigLIP", "SigLIP, mean"])
def test_an_activation_that_may_be_one_of_two_is_asked_for(name):
    case = OF_TIMM[name]
    state = case.make(**case.options).state_dict()
    with pytest.raises(ValueError, match=r"which GELU it has: give gelu='none' or '(quick|tanh)', or the model"):
        pretrained.load_timm(state, **{name: value for name, value in case.said.items() if name != "gelu"})


ASKED = "give pool='cls' if it is the class token, 'mean' if it is the mean of the patches"


def test_weights_do_not_say_whether_their_head_reads_a_mean_or_a_maximum():
    for options in ({}, {"class_token": False}):
        mean, maximum = (published.timm_vit(global_pool=pool, **options) for pool in ("avg", "max"))
        assert mean.state_dict().keys() == maximum.state_dict().keys()
        with pytest.raises(ValueError, match=f"what their head reads: {ASKED}"):
            pretrained.load_timm(maximum.state_dict(), num_heads=3)
        with pytest.raises(ValueError, match="global_pool is 'max'"):
            pretrained.load_timm(maximum)
        shaken(mean)
        ours, images = pretrained.load_timm(mean.state_dict(), num_heads=3, pool="mean"), torch.randn(2, 3, 21, 21)
        with torch.no_grad():
            close(ours(images), mean(images))


@torch.no_grad()
def test_what_the_head_reads_is_asked_for_where_the_weights_do_not_say():
    case = OF_TIMM["mean after the norm, class token"]
    mean, token = (shaken(case.make(**options)) for options in (case.options, {}))
    assert {key: value.shape for key, value in mean.state_dict().items()} == {
        key: value.shape for key, value in token.state_dict().items()
    }
    images = images_for(pretrained.load_timm(token))
    for theirs, pool in ((mean, "mean"), (token, "cls")):
        state = theirs.state_dict()
        with pytest.raises(ValueError, match=f"what their head reads: {ASKED}, or the model itself"):
            pretrained.load_timm(state, num_heads=3)
        close(pretrained.load_timm(state, num_heads=3, pool=pool)(images), theirs(images))
        assert pretrained.load_timm(theirs, pool=pool).config == pretrained.load_timm(theirs).config
    with pytest.raises(ValueError, match="pool is 'cls', but the model has 'mean'"):
        pretrained.load_timm(mean, pool="cls")
    with pytest.raises(ValueError, match="pool must be 'cls' or 'mean', got 'map'"):
        pretrained.load_timm(state, num_heads=3, pool="map")
    headless = {key: value for key, value in state.items() if not key.startswith("head.")}
    close(pretrained.load_timm(headless, num_heads=3).features(images), token.forward_features(images))
    no_token = OF_TIMM["mean after the norm"]
    with pytest.raises(ValueError, match=r"^key 'cls_token' is missing: with pool='cls' the head reads a class token"):
        pretrained.load_timm(no_token.make(**no_token.options).state_dict(), num_heads=3, pool="cls")


def test_what_the_head_of_an_older_vit_pytorch_reads():
    state = published.vit_pytorch_vit().state_dict()
    assert pretrained.load_vit_pytorch(state, 3).config.pool == "cls", "of this version only with pool='cls'"
    older = state | {key: state[key][None] for key in ("cls_token", "pos_embedding")}  # with pool="mean" as well
    with pytest.raises(ValueError, match=f"what their head reads: {ASKED}$"):
        pretrained.load_vit_pytorch(older, 3)
    ours, expected = pretrained.load_vit_pytorch(older, 3, pool="cls"), pretrained.load_vit_pytorch(state, 3)
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), expected.parameters(), strict=True))
    with pytest.raises(
        ValueError, match="the mean of the class token and the patches, but ours averages the patches alone"
    ):
        pretrained.load_vit_pytorch(older, 3, pool="mean")
    mean = published.vit_pytorch_vit(pool="mean").state_dict()
    assert pretrained.load_vit_pytorch(mean, 3, pool="mean").config.pool == "mean"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["DeiT III", "DINOv2 with registers", "distilled DeiT", "CLIP", "SigLIP", "mean before the norm"]
)
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
    (lambda: timm_vit(global_pool="max"), "global_pool is 'max', but our ViT takes only 'token'"),
    (lambda: timm_vit(global_pool="avg", pool_include_prefix=True), "reads the class token and the registers together"),
    (lambda: timm_vit(block_fn=timm.models.vision_transformer.ResPostBlock), "have a ResPostBlock where our ViT has"),
    (lambda: timm_vit(mlp_layer=timm.layers.GluMlp), "have a GluMlp where our ViT has a Mlp"),
    (lambda: timm_vit(act_layer="relu"), "the activation is 'ReLU', but our ViT has only a GELU"),
    (lambda: timm_vit(final_norm=False), r"key 'norm\.weight' is missing"),
    (lambda: timm_vit(proj_bias=False), r"attn\.proj\.bias' is missing"),
    (lambda: nn.Linear(2, 3), "this is a Linear, but of timm's models only VisionTransformer"),
    (lambda: OF_HUGGINGFACE["ViT"].make(), "this is a ViTForImageClassification, but of timm's models only"),
    (lambda: timm.create_model("swin_tiny_patch4_window7_224", embed_dim=12, depths=(1, 1, 1, 1)), "Swin"),
]
OF_HUGGINGFACE_ALONE = [
    (lambda: transformers.Dinov2Model(config("Dinov2", use_swiglu_ffn=True)), "its MLP is a SwiGLU, as in DINOv2's"),
    (lambda: transformers.ViTModel(config("ViT", hidden_act="relu")), "the activation is 'relu'"),
    (lambda: transformers.ViTModel(config("ViT", pooler_act="relu")), "pooler_act must be 'tanh', got 'relu'"),
    (lambda: transformers.ViTForMaskedImageModeling(config("ViT", encoder_stride=7)), "a ViTForMaskedImageModeling"),
    (timm_vit, "this is a VisionTransformer, which has no config of Hugging Face"),
    (lambda: nn.Linear(2, 3), "this is a Linear, which has no config of Hugging Face"),
]


def test_models_that_ours_is_not():
    for load, rows in ((pretrained.load_timm, OF_TIMM_ALONE), (pretrained.load_huggingface, OF_HUGGINGFACE_ALONE)):
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
    with pytest.raises(ValueError, match="twice as many as the next layer takes: a SwiGLU, as in DINOv2's giant"):
        pretrained.load_timm(giant.state_dict(), num_heads=3)


SIZES = {"image_size": 32, "patch_size": 8, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
         "intermediate_size": 30}  # fmt: skip
# What is refused though each of its layers looks at the whole picture.
STILL_RECORDED = {
    "this is a Beit": lambda: timm.create_model("beit_base_patch16_224", img_size=32, embed_dim=24, num_heads=2,
                                                depth=2),
    "this is a Eva": lambda: timm.create_model("eva02_tiny_patch14_224", img_size=28, depth=2),
    "this is a Eva, but": lambda: timm.create_model("vit_small_patch16_dinov3", img_size=32, depth=2),
    "its patches come from a HybridEmbed": lambda: timm.create_model("vit_tiny_r_s16_p8_224", img_size=32, depth=2),
    "this is a BeitModel": lambda: transformers.BeitModel(transformers.BeitConfig(**{**SIZES, "image_size": 32})),
    "this is a DINOv3ViTModel": lambda: transformers.DINOv3ViTModel(transformers.DINOv3ViTConfig(**SIZES)),
    "its MLP is a SwiGLU": lambda: transformers.Dinov2Model(config("Dinov2", use_swiglu_ffn=True)),
    "this is a IJepaModel": lambda: transformers.IJepaModel(transformers.IJepaConfig(**SIZES)),
}  # fmt: skip


@pytest.mark.parametrize("kind", STILL_RECORDED)
@torch.no_grad()
def test_what_is_refused_by_its_name_can_still_be_recorded(kind):
    theirs = STILL_RECORDED[kind]().eval()
    load = pretrained.load_huggingface if isinstance(theirs, transformers.PreTrainedModel) else pretrained.load_timm
    with pytest.raises(ValueError, match=rf"{kind}.*; record_attention and explore take models of other kinds"):
        load(theirs)
    side = getattr(getattr(theirs, "config", None), "image_size", None) or theirs.patch_embed.img_size[0]
    if hasattr(theirs, "set_attn_implementation"):
        theirs.set_attn_implementation("eager")
    with record_attention(theirs) as maps:
        theirs(torch.randn(1, 3, side, side))
    rows = maps.stacked().sum(dim=-1)
    torch.testing.assert_close(rows, torch.ones_like(rows), atol=1e-4, rtol=0)
