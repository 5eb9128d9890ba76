"""Position tables for images of another size, against what the libraries make of theirs."""

import published
import pytest
import torch
from conftest import cases
from published import PATCH, PUBLISHED, shaken
from timm.layers import resample_abs_pos_embed
from timm.models.vision_transformer import checkpoint_filter_fn

from vit_course import data, pretrained


@cases("sides", [(6, 10), (10, 6), (14, 24)], ids=str)
@torch.no_grad()
def test_resized_as_timm_resizes(sides):
    side, new = sides  # of the square of patches; 14 and 24 are those of 224 and 384 pixels
    images = torch.randn(2, 3, new * PATCH, new * PATCH)
    theirs = shaken(published.timm_vit(side * PATCH, dynamic_img_size=True))
    ours = pretrained.resize(pretrained.load_timm(theirs.state_dict(), 3), new * PATCH, antialias=True)
    assert not ours.training and ours.config.image_size == (new * PATCH, new * PATCH)
    torch.testing.assert_close(ours(images), theirs(images), atol=1e-5, rtol=0)
    # And as its models of a fixed size take a checkpoint of another.
    fixed = published.timm_vit(new * PATCH).eval()
    fixed.load_state_dict(checkpoint_filter_fn(theirs.state_dict(), fixed))
    torch.testing.assert_close(ours(images), fixed(images), atol=1e-5, rtol=0)
    plain = pretrained.resize(pretrained.load_timm(theirs.state_dict(), 3), new * PATCH)
    assert (plain.positions.table - fixed.pos_embed).abs().max() > 1e-2


@torch.no_grad()
def test_resized_to_an_oblong_with_mean_pooling():
    theirs = shaken(published.timm_vit(6 * PATCH, class_token=False, global_pool="avg", fc_norm=False))
    ours = pretrained.resize(pretrained.load_timm(theirs.state_dict(), 3), (5 * PATCH, 8 * PATCH), antialias=True)
    table = resample_abs_pos_embed(theirs.pos_embed, new_size=[5, 8], num_prefix_tokens=0)
    torch.testing.assert_close(ours.positions.table, table, atol=1e-5, rtol=0, check_device=False)
    wide = published.timm_vit((5 * PATCH, 8 * PATCH), class_token=False, global_pool="avg", fc_norm=False).eval()
    wide.load_state_dict(pretrained.to_timm(ours))
    images = torch.randn(2, 3, 5 * PATCH, 8 * PATCH)
    torch.testing.assert_close(ours(images), wide(images), atol=1e-5, rtol=0)


@cases("size", [0, 2.5, "21", None, (21, 21, 21), 10**9, 30])
def test_sizes_and_models_that_are_none(size):
    model = PUBLISHED["timm"].ours(PUBLISHED["timm"].theirs())
    with pytest.raises(ValueError, match=r"image_size must be |image height 30 is not a multiple of patch size 7"):
        pretrained.resize(model, size)
    for call in (pretrained.to_timm, pretrained.to_huggingface, lambda model: pretrained.resize(model, 42)):
        with pytest.raises(ValueError, match="a ViT of this course is needed, got a "):
            call(PUBLISHED["timm"].theirs())


@cases("sides", [(6, 10), (10, 6)], ids=str)
@torch.no_grad()
def test_resized_as_hugging_face_resizes(sides):
    side, new = sides
    images = torch.randn(2, 3, new * PATCH, new * PATCH, dtype=torch.float64)
    theirs = shaken(published.huggingface_vit(image_size=side * PATCH)).double()
    original = pretrained.load_huggingface(theirs.state_dict(), 3)
    ours = pretrained.resize(original, new * PATCH)
    torch.testing.assert_close(ours(images), theirs(images, interpolate_pos_encoding=True).logits, atol=1e-10, rtol=0)
    assert original.config.image_size == (side * PATCH, side * PATCH)  # a copy


@cases(
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
