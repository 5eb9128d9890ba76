"""Weights that the real libraries make, in our ViT: the same numbers in every layer, and the way back."""

import copy

import published
import pytest
import timm
import torch
import torchvision
import transformers
import vit_pytorch
from conftest import cases
from published import PATCH, PUBLISHED, logits, shaken

from vit_course import pretrained
from vit_course.config import ViTConfig
from vit_course.vit import ViT

EXACT = {torch.float32: 1e-5, torch.float64: 1e-10}


def assert_same(actual, expected, dtype):
    assert actual.dtype == expected.dtype == dtype and expected.std() > 0.02
    torch.testing.assert_close(actual, expected, atol=EXACT[dtype], rtol=0)


# ---- parity


@cases("dtype", EXACT, ids=str)
@cases("name", PUBLISHED)
@torch.no_grad()
def test_logits_are_the_librarys(name, dtype):
    case = PUBLISHED[name]  # whose stages test_stages.py compares, one by one
    theirs = case.theirs(dtype)
    ours, images = case.ours(theirs), case.images(dtype)
    assert not ours.training
    assert_same(ours(images), logits(theirs, images), dtype)


@cases("dtype", EXACT, ids=str)
@cases("old", [False, True])
@cases("pooler", [True, False])
@torch.no_grad()
def test_a_backbone_of_hugging_face(pooler, old, dtype):
    case = PUBLISHED["Hugging Face"]
    theirs = published.huggingface_vit(transformers.ViTModel, model={"add_pooling_layer": pooler}.items())
    theirs = shaken(theirs).to(dtype)
    state, images = theirs.state_dict(), case.images(dtype)
    if old:
        whole = published.old_huggingface_names({f"vit.{key}": value for key, value in state.items()})
        state = {key.removeprefix("vit."): value for key, value in whole.items()}
        assert "encoder.layer.0.attention.attention.query.weight" in state
    ours = pretrained.load_huggingface(state, num_heads=3, num_classes=4)
    assert ours.config.representation_size == (published.WIDTH if pooler else 0)
    expected, features = theirs(images), ours.features(images)
    assert_same(features, expected.last_hidden_state, dtype)
    if pooler:
        assert_same(ours.pre_logits(features[:, 0]), expected.pooler_output, dtype)
    assert ours(images).shape == (2, 4)  # the fresh head
    back = {key.removeprefix("vit."): value for key, value in pretrained.to_huggingface(ours).items()}
    theirs.load_state_dict({key: value for key, value in back.items() if not key.startswith("classifier")})


FULL = {
    "torchvision": (torchvision.models.vit_b_16, pretrained.load_torchvision),
    "timm": (lambda: timm.create_model("vit_base_patch16_224"), pretrained.load_timm),
    "Hugging Face": (
        lambda: transformers.ViTForImageClassification(transformers.ViTConfig(num_labels=1000)),
        pretrained.load_huggingface,
    ),
    "vit-pytorch": (
        lambda: vit_pytorch.ViT(image_size=224, patch_size=16, num_classes=1000, dim=768, depth=12, heads=12,
                                mlp_dim=3072),
        pretrained.load_vit_pytorch,
    ),
}  # fmt: skip


@pytest.mark.slow
@torch.no_grad()
def test_vit_b_16_in_full(some):
    for name in some(FULL):
        make, load = FULL[name]
        theirs = shaken(make())
        ours, images = load(theirs.state_dict()), torch.randn(1, 3, 224, 224)
        preset = ViTConfig.preset("vit-b/16").to_dict()
        if name == "vit-pytorch":
            preset |= {"patch_norm": True, "qkv_bias": False}
        assert ours.config.to_dict() == {**preset, "norm_epsilon": ours.config.norm_epsilon}
        expected = logits(theirs, images)
        assert expected.std() > 0.05
        torch.testing.assert_close(ours(images), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("name, epsilon", [("torchvision", 1e-6), ("timm", 1e-6), ("Hugging Face", 1e-12),
                                           ("vit-pytorch", 1e-5)])  # fmt: skip
def test_the_config_is_read_from_the_shapes_and_the_epsilon_is_the_published_one(name, epsilon):
    case = PUBLISHED[name]
    theirs = case.theirs()
    assert {norm.eps for norm in theirs.modules() if isinstance(norm, torch.nn.LayerNorm)} == {epsilon}
    ours = case.ours(theirs)
    mlp_dim, apart = (72 if name == "timm" else 20), name == "vit-pytorch"
    assert ours.config == ViTConfig(
        image_size=21, patch_size=7, num_classes=5, hidden_dim=36, num_layers=3, num_heads=3, mlp_dim=mlp_dim,
        norm_epsilon=epsilon, patch_norm=apart, qkv_bias=not apart,
    )  # fmt: skip


@cases("dtype", [torch.float16, torch.bfloat16])
def test_half_weights_stay_half(dtype):
    theirs = PUBLISHED["timm"].theirs(dtype)
    ours = PUBLISHED["timm"].ours(theirs)
    fresh = {key: value for key, value in theirs.state_dict().items() if "head" not in key}
    assert pretrained.load_timm(fresh, num_heads=3, num_classes=2).head.weight.dtype == dtype
    assert {value.dtype for value in pretrained.to_timm(ours).values()} == {dtype}
    for antialias in (False, True):
        larger, images = pretrained.resize(ours, 5 * PATCH, antialias), torch.randn(1, 3, 5 * PATCH, 5 * PATCH)
        assert {parameter.dtype for model in (ours, larger) for parameter in model.parameters()} == {dtype}
        with torch.no_grad():
            expected = pretrained.resize(copy.deepcopy(ours).double(), 5 * PATCH, antialias)(images.to(dtype).double())
            torch.testing.assert_close(larger(images.to(dtype)).double(), expected, atol=0.1, rtol=0)


def test_the_callers_dict_is_untouched_and_shares_no_memory():
    for case in PUBLISHED.values():
        state = case.rename(case.theirs().state_dict())
        kept = copy.deepcopy(state)
        ours = case.load(state, num_heads=case.heads, **case.load_options)
        with torch.no_grad():
            for parameter in ours.parameters():
                parameter.zero_()
        assert list(state) == list(kept) and all(torch.equal(state[key], kept[key]) for key in kept)


# ---- and back


@cases("name", PUBLISHED)
@torch.no_grad()
def test_back_the_names_are_the_librarys_own_and_it_loads_them_strictly(name):
    case = PUBLISHED[name]
    theirs, images = case.theirs(), case.images()
    ours = case.ours(theirs)
    back = case.export(ours)
    original = theirs.state_dict()
    assert back.keys() == original.keys()
    assert all(torch.equal(back[key], original[key]) for key in original)
    other = case.make(**case.options).eval()
    other.load_state_dict(back)
    torch.testing.assert_close(logits(other, images), logits(theirs, images), atol=0, rtol=0)
    again = case.load(back, num_heads=case.heads, **case.load_options)
    back[next(iter(back))].fill_(7.0)  # copies, not views
    assert again.config == ours.config
    assert all(torch.equal(value, ours.state_dict()[key]) for key, value in again.state_dict().items())


SMALL = dict(image_size=8, patch_size=4, num_classes=5, hidden_dim=24, num_layers=2, num_heads=3, mlp_dim=20)


@pytest.mark.parametrize("export, changes, message", [
    (pretrained.to_torchvision, {"pool": "mean"}, "a ViT of torchvision has pool 'cls', this model has 'mean'"),
    (pretrained.to_torchvision, {"qkv_bias": False}, "torchvision has qkv_bias True, this model has False"),
    (pretrained.to_timm, {"position": "sincos2d"}, "timm has position 'learned', this model has 'sincos2d'"),
    (pretrained.to_timm, {"patch_norm": True}, "timm has patch_norm False, this model has True"),
    (pretrained.to_huggingface, {"pool": "mean"}, "Hugging Face has pool 'cls', this model has 'mean'"),
    (pretrained.to_vit_pytorch, {"qkv_bias": False}, "vit-pytorch has patch_norm True, this model has False"),
    (pretrained.to_vit_pytorch, {"patch_norm": True}, "vit-pytorch has qkv_bias False, this model has True"),
    (pretrained.to_vit_pytorch, {"patch_norm": True, "qkv_bias": False, "representation_size": 7},
     "vit-pytorch has representation_size 0, this model has 7"),
])  # fmt: skip
def test_what_a_library_has_not_is_not_exported(export, changes, message):
    with pytest.raises(ValueError, match=message):
        export(ViT(ViTConfig(**SMALL, **changes)))
