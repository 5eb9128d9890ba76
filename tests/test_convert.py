"""Weights that the real libraries make, in our ViT: the same numbers in every layer, the way back, another size."""

import copy

import published
import pytest
import torch
import torchvision
import transformers
from published import PATCH, PUBLISHED, logits, shaken
from timm.layers import resample_abs_pos_embed
from timm.models.vision_transformer import checkpoint_filter_fn

from vit_course import data, pretrained
from vit_course.config import ViTConfig
from vit_course.vit import ViT

EXACT = {torch.float32: 1e-5, torch.float64: 1e-10}


def assert_same(actual, expected, dtype):
    assert actual.dtype == expected.dtype == dtype and expected.std() > 0.02
    torch.testing.assert_close(actual, expected, atol=EXACT[dtype], rtol=0)


# ---- parity


@pytest.mark.slow
@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize("name", PUBLISHED)
@torch.no_grad()
def test_logits_are_the_librarys(name, dtype):
    case = PUBLISHED[name]  # whose stages test_compare.py compares, one by one
    theirs = case.theirs(dtype)
    ours, images = case.ours(theirs), case.images(dtype)
    assert not ours.training
    assert_same(ours(images), logits(theirs, images), dtype)


@pytest.mark.parametrize(
    "name, epsilon", [("torchvision", 1e-6), ("timm", 1e-6), ("Hugging Face", 1e-12), ("vit-pytorch", 1e-5)]
)
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


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
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


@pytest.mark.slow
def test_the_callers_dict_is_untouched_and_shares_no_memory():
    for case in PUBLISHED.values():
        state = case.rename(case.theirs().state_dict())
        kept = copy.deepcopy(state)
        ours = case.load(state, num_heads=case.heads, **case.load_options)
        with torch.no_grad():
            for parameter in ours.parameters():
                parameter.zero_()
        assert list(state) == list(kept) and all(torch.equal(state[key], kept[key]) for key in kept)


@pytest.mark.slow
@torch.no_grad()
def test_vit_b_16_in_full():
    theirs = shaken(torchvision.models.vit_b_16())
    ours, images = pretrained.load_torchvision(theirs), torch.randn(1, 3, 224, 224)
    assert ours.config.to_dict() == {**ViTConfig.preset("vit-b/16").to_dict(), "norm_epsilon": 1e-6}
    torch.testing.assert_close(ours(images), theirs(images), atol=1e-4, rtol=0)


# ---- and back


@pytest.mark.parametrize("pooler", [True, False])
def test_a_backbone_of_hugging_face_and_back(pooler):
    theirs = shaken(published.huggingface_vit(transformers.ViTModel, model={"add_pooling_layer": pooler}.items()))
    ours = pretrained.load_huggingface(theirs.state_dict(), num_heads=3)
    back = {key.removeprefix("vit."): value for key, value in pretrained.to_huggingface(ours).items()}
    assert back.keys() == theirs.state_dict().keys()
    assert all(torch.equal(back[key], value) for key, value in theirs.state_dict().items())


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
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


@pytest.mark.parametrize(
    "export, changes, message",
    [
        (pretrained.to_torchvision, {"pool": "mean"}, "a ViT of torchvision has pool 'cls', but this model has 'mean'"),
        (pretrained.to_torchvision, {"qkv_bias": False}, "torchvision has qkv_bias True, but this model has False"),
        (pretrained.to_timm, {"position": "sincos2d"}, "timm has position 'learned', but this model has 'sincos2d'"),
        (pretrained.to_timm, {"patch_norm": True}, "timm has patch_norm False, but this model has True"),
        (pretrained.to_huggingface, {"pool": "mean"}, "Hugging Face has pool 'cls', but this model has 'mean'"),
        (pretrained.to_vit_pytorch, {"qkv_bias": False}, "vit-pytorch has patch_norm True, but this model has False"),
        (pretrained.to_vit_pytorch, {"patch_norm": True}, "vit-pytorch has qkv_bias False, but this model has True"),
        (
            pretrained.to_vit_pytorch,
            {"patch_norm": True, "qkv_bias": False, "representation_size": 7},
            "vit-pytorch has representation_size 0, but this model has 7",
        ),
    ],
)
def test_what_a_library_has_not_is_not_exported(export, changes, message):
    with pytest.raises(ValueError, match=message):
        export(ViT(ViTConfig(**SMALL, **changes)))


@pytest.mark.parametrize("sides", [(6, 10), (10, 6), (14, 24)])
@torch.no_grad()
def test_resized_as_timm_resizes(sides):
    side, new = sides  # of the square of patches; 14 and 24 are those of 224 and 384 pixels
    images = torch.randn(2, 3, new * PATCH, new * PATCH)
    theirs = shaken(published.timm_vit(side * PATCH, dynamic_img_size=True))
    ours = pretrained.resize(pretrained.load_timm(theirs.state_dict(), 3, pool="cls"), new * PATCH, antialias=True)
    assert not ours.training and ours.config.image_size == (new * PATCH, new * PATCH)
    torch.testing.assert_close(ours(images), theirs(images), atol=1e-5, rtol=0)
    # And as its models of a fixed size take a checkpoint of another.
    fixed = published.timm_vit(new * PATCH).eval()
    fixed.load_state_dict(checkpoint_filter_fn(theirs.state_dict(), fixed))
    torch.testing.assert_close(ours(images), fixed(images), atol=1e-5, rtol=0)
    plain = pretrained.resize(pretrained.load_timm(theirs.state_dict(), 3, pool="cls"), new * PATCH)
    assert (plain.positions.table - fixed.pos_embed).abs().max() > 1e-2


@torch.no_grad()
def test_resized_to_an_oblong_with_mean_pooling():
    theirs = shaken(published.timm_vit(6 * PATCH, class_token=False, global_pool="avg", fc_norm=False))
    ours = pretrained.load_timm(theirs.state_dict(), 3, pool="mean")
    ours = pretrained.resize(ours, (5 * PATCH, 8 * PATCH), antialias=True)
    table = resample_abs_pos_embed(theirs.pos_embed, new_size=[5, 8], num_prefix_tokens=0)
    torch.testing.assert_close(ours.positions.table, table, atol=1e-5, rtol=0, check_device=False)
    wide = published.timm_vit((5 * PATCH, 8 * PATCH), class_token=False, global_pool="avg", fc_norm=False).eval()
    wide.load_state_dict(pretrained.to_timm(ours))
    images = torch.randn(2, 3, 5 * PATCH, 8 * PATCH)
    torch.testing.assert_close(ours(images), wide(images), atol=1e-5, rtol=0)


@pytest.mark.parametrize("size", [0, 2.5, "21", None, (21, 21, 21), 10**9, 30])
def test_sizes_and_models_that_are_none(size):
    model = PUBLISHED["timm"].ours(PUBLISHED["timm"].theirs())
    with pytest.raises(ValueError, match=r"image_size must be |image height 30 is not a multiple of patch size 7"):
        pretrained.resize(model, size)
    for call in (pretrained.to_timm, pretrained.to_huggingface, lambda model: pretrained.resize(model, 42)):
        with pytest.raises(ValueError, match="a ViT of this course is needed, got a "):
            call(PUBLISHED["timm"].theirs())


@pytest.mark.parametrize("sides", [(6, 10), (10, 6)])
@torch.no_grad()
def test_resized_as_hugging_face_resizes(sides):
    side, new = sides
    images = torch.randn(2, 3, new * PATCH, new * PATCH, dtype=torch.float64)
    theirs = shaken(published.huggingface_vit(image_size=side * PATCH)).double()
    original = pretrained.load_huggingface(theirs.state_dict(), 3)
    ours = pretrained.resize(original, new * PATCH)
    torch.testing.assert_close(ours(images), theirs(images, interpolate_pos_encoding=True).logits, atol=1e-10, rtol=0)
    assert original.config.image_size == (side * PATCH, side * PATCH)  # a copy


@pytest.mark.parametrize(
    ("resize", "crop", "side", "expected"),
    [
        (256, (224, 224), 112, (128, (112, 112))),
        (224, (224, 224), 98, (98, (98, 98))),
        ((40, 30), None, (80, 45), ((80, 45), (80, 45))),
        ((50, 60), (40, 30), (20, 15), ((25, 30), (20, 15))),
        (64, None, 32, (32, (32, 32))),
    ],
)
def test_preprocessing_at_another_size_keeps_its_share_of_the_picture(resize, crop, side, expected):
    before = pretrained.Preprocessing(resize, crop, "bicubic", (0.4, 0.5, 0.6), (0.2, 0.3, 0.4))
    after = before.at(side)
    assert (after.resize, after.crop) == expected
    assert (after.mean, after.std, after.interpolation) == (before.mean, before.std, before.interpolation)
    assert after(data.photographs()["cat"].path).shape == (1, 3, *expected[1])


def test_preprocessing_at_no_size_or_an_oblong_one():
    square = pretrained.Preprocessing(256, (224, 224), "bicubic", (0.4, 0.5, 0.6), (0.2, 0.3, 0.4))
    with pytest.raises(ValueError, match=r"image_size must be a square for this .*, got \(98, 112\)"):
        square.at((98, 112))
    for wrong in (0, -3, 2.5, "98", None, (1, 2, 3)):
        with pytest.raises(ValueError, match="image_size"):
            square.at(wrong)
