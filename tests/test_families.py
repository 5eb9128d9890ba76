"""Every family of published ViTs in ours: the same features and logits, from the model itself and from its weights."""

import pytest
import timm
import torch
from conftest import cases
from families import OF_HUGGINGFACE, OF_TIMM, timm_vit
from published import shaken

from vit_course import pretrained
from vit_course.pretrained.said import TIMM_HEADS, by_timm, by_timm_name
from vit_course.pretrained.variants import VariantViT

pytestmark = pytest.mark.slow


def close(ours: torch.Tensor, theirs: torch.Tensor, share: float = 1e-4) -> None:
    assert ours.shape == theirs.shape and theirs.std() > 0.01
    assert (ours - theirs).abs().max() <= share * theirs.abs().max()


def images_for(model, batch: int = 2) -> torch.Tensor:
    return torch.randn(batch, model.config.in_channels, *model.config.image_size)


@cases("name", OF_TIMM)
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


@cases("name", ["DINOv2 with registers", "distilled DeiT", "CLIP, quick", "SigLIP", "mean, registers"])
@cases("dtype", [torch.float16, torch.bfloat16, torch.float64])
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
    official |= {
        "pos_embed": torch.cat([position, state["pos_embed"]], dim=1),
        "cls_token": state["cls_token"] - position,
    }
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


@cases(("width", "heads"), [(192, 3), (384, 6), (768, 12), (1024, 16), (1152, 16), (1280, 16)])
def test_heads_of_published_widths(width, heads):
    theirs = timm_vit(embed_dim=width, num_heads=1, depth=1)
    assert pretrained.load_timm(theirs.state_dict()).config.num_heads == heads
    assert pretrained.load_timm(theirs).config.num_heads == 1


@cases(("options", "known"), [
    ({"embed_dim": 1536}, "published models of width 1536 have 16 or 24"),
    ({"embed_dim": 768, "class_token": False, "global_pool": "avg", "fc_norm": False}, "published .* have 12 or 16"),
    ({"embed_dim": 768, "mlp_ratio": 3}, "published models of width 768 have 8 or 12"),
    ({"embed_dim": 128}, "no published model is 128 wide"),
    ({"embed_dim": 384, "num_heads": 8}, "published models of width 384 have 6 or 12"),  # 12 in MoCo v3
])  # fmt: skip
def test_a_width_with_several_numbers_of_heads_is_never_guessed(options, known):
    state = timm_vit(**{"num_heads": 1, "depth": 1, **options}).state_dict()
    if options["embed_dim"] == 384:
        state["pos_embed"][:, 0] = 0  # as computed positions have
    with pytest.raises(ValueError, match=f"not in the weights, and {known}: give num_heads$"):
        pretrained.load_timm(state)
    assert pretrained.load_timm(state, num_heads=8).config.num_heads == 8


def test_every_published_width_of_timm_is_in_the_table():
    for name in timm.list_models(module="vision_transformer"):
        try:
            said = by_timm_name(name, {}, None)
        except ValueError:
            continue
        with torch.device("meta"):
            theirs = timm.create_model(name, depth=1)
        if type(theirs.blocks[0].mlp).__name__ == "GluMlp":
            continue  # refused by its weights
        found = by_timm(theirs)
        assert (said.num_heads, said.norm_epsilon, said.gelu) == (found.num_heads, found.norm_epsilon, found.gelu), name
    assert len(TIMM_HEADS) > 10


@cases(("given", "message"), [
    ({"num_heads": 4}, "num_heads is 4, and the model has 3"),
    ({"gelu": "tanh"}, "gelu is 'tanh', and the model has 'none'"),
    ({"gelu": "relu"}, "gelu must be 'none', 'tanh' or 'quick', got 'relu'"),
])  # fmt: skip
def test_a_model_that_says_otherwise_than_the_argument(given, message):
    for load, theirs in (
        (pretrained.load_timm, timm_vit()),
        (pretrained.load_huggingface, OF_HUGGINGFACE["ViT"].make()),
    ):
        with pytest.raises(ValueError, match=message):
            load(theirs, **given)


@cases("name", ["CLIP", "SigLIP", "SigLIP, mean"])
def test_an_activation_that_may_be_one_of_two_is_asked_for(name):
    state = OF_TIMM[name].make(**OF_TIMM[name].options).state_dict()
    with pytest.raises(ValueError, match=r"which GELU it has: give gelu='none' or '(quick|tanh)', or the model"):
        pretrained.load_timm(state, num_heads=3)
