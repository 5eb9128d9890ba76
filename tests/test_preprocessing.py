"""Our preprocessing against each library's own, on real photographs and on pictures of every kind."""

import dataclasses
import json

import numpy as np
import pytest
import timm
import torch
from matplotlib.cbook import get_sample_data
from PIL import Image
from sklearn.datasets import load_sample_images
from timm.data import create_transform, resolve_data_config
from torchvision import models
from transformers import DeiTImageProcessor, ViTImageProcessor

from vit_course.pretrained import Preprocessing

IMAGENET = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
HALF = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
# As published: google/vit-base-patch16-224 (version 3 of transformers), facebook/deit-base-patch16-224 (version 3), a
# file of version 4, and one whose crop leaves an odd number of pixels over.
HUGGINGFACE = {
    "vit": (ViTImageProcessor, {"do_normalize": True, "do_resize": True, "size": 224, **HALF}),
    "deit": (DeiTImageProcessor, {"feature_extractor_type": "DeiTFeatureExtractor", "crop_size": 224, "size": 256,
                                  "do_center_crop": True, "resample": 3, **IMAGENET}),
    "version 4": (ViTImageProcessor, {"image_processor_type": "ViTImageProcessor", "do_rescale": True, "resample": 2,
                                      "rescale_factor": 1 / 255, "size": {"height": 96, "width": 128}, **HALF}),
    "shortest edge": (ViTImageProcessor, {"size": {"shortest_edge": 235}, "do_center_crop": True, "resample": 3,
                                          "crop_size": {"height": 224, "width": 160}, **IMAGENET}),
}  # fmt: skip
VIT = ViTImageProcessor().to_dict()
SQUARE = Preprocessing(24, (24, 24), "bilinear", (0.5,) * 3, (0.25,) * 3)
STRETCHED = dataclasses.replace(SQUARE, resize=(24, 24), crop=None)


@pytest.fixture(scope="module")
def photographs(tmp_path_factory) -> list[str]:
    """Paths of three photographs, one upright and two wide, as JPEG files."""
    folder = tmp_path_factory.mktemp("photographs")
    paths = [str(get_sample_data("grace_hopper.jpg", asfileobj=False))]
    for name, image in zip(("china", "flower"), load_sample_images().images, strict=True):
        Image.fromarray(image).save(folder / f"{name}.jpg", quality=95)
        paths.append(str(folder / f"{name}.jpg"))
    return paths


def same(ours, theirs):
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "entry",
    [entry for name in ("vit_b_16", "vit_b_32", "vit_l_16", "vit_h_14") for entry in models.get_model_weights(name)],
)
def test_torchvision(entry, photographs):
    ours, theirs = Preprocessing.from_torchvision(entry), entry.transforms()
    for path in photographs:
        same(ours(path), theirs(Image.open(path).convert("RGB"))[None])
    assert ours.image_size == tuple(entry.meta["min_size"])


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("vit_base_patch16_224.augreg2_in21k_ft_in1k", {}),
        ("vit_base_patch16_384.augreg_in21k_ft_in1k", {}),
        ("vit_base_patch16_224_miil.in21k_ft_in1k", {}),
        ("deit_small_patch16_224.fb_in1k", {}),
        ("deit_small_patch16_224.fb_in1k", {"crop_mode": "squash", "input_size": (3, 96, 128)}),
        ("deit_small_patch16_224.fb_in1k", {"interpolation": "lanczos", "crop_pct": 0.83}),
        ("deit_small_patch16_224.fb_in1k", {"mean": None, "std": None, "crop_pct": None, "interpolation": None}),
    ],
)
def test_timm(name, changes, photographs):
    config = {**timm.get_pretrained_cfg(name).to_dict(), **changes}
    ours, theirs = Preprocessing.from_timm(config), create_transform(**resolve_data_config(pretrained_cfg=config))
    for path in photographs:
        same(ours(path), theirs(Image.open(path).convert("RGB"))[None])


@pytest.mark.parametrize("name", HUGGINGFACE)
def test_huggingface(name, photographs, tmp_path):
    # Through a file, as its own processor reads it.
    kind, config = HUGGINGFACE[name]
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(config))
    theirs = kind.from_pretrained(tmp_path)
    ours = Preprocessing.from_huggingface(theirs.to_dict())
    for path in photographs:
        same(ours(path), theirs(Image.open(path).convert("RGB"), return_tensors="pt")["pixel_values"])


def picture(mode: str) -> Image.Image:
    """A picture of 40 x 30 in a mode of Pillow's, with gentle slopes."""
    y, x = np.mgrid[:30, :40]
    colours = np.stack([5 * x, 8 * y, 250 - 3 * x - 4 * y], axis=-1).clip(0, 255).astype(np.uint8)
    return Image.fromarray(colours).convert(mode)


def test_a_grey_model_gets_one_channel():
    theirs = ViTImageProcessor(size=24, image_mean=[0.5], image_std=[0.5])
    ours = Preprocessing.from_huggingface(theirs.to_dict())
    same(ours(picture("RGB")), theirs(picture("L"), return_tensors="pt")["pixel_values"])


def test_one_pixel():
    for ours in (SQUARE, STRETCHED, dataclasses.replace(STRETCHED, on_tensor=True)):
        result = ours(Image.new("RGB", (1, 1), (255, 0, 51)))
        same(result, torch.tensor([2.0, -2.0, -1.2])[None, :, None, None].expand(1, 3, 24, 24))


def test_an_old_processor_resizes_floats_and_rounds_them(photographs, monkeypatch):
    ours = dataclasses.replace(STRETCHED, on_tensor=True)
    image = Image.open(photographs[1])
    new = ours(image)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    apart = (ours(image) - new) * 0.25 * 255  # in levels; cut off they would be half of one too low on average
    assert apart.abs().max() < 2 and apart.mean().abs() < 0.1


def test_very_wide(photographs):
    entry = models.ViT_B_16_Weights.IMAGENET1K_V1
    ours = Preprocessing.from_torchvision(entry)
    wide = Image.open(photographs[1]).resize((20_000, 400))
    same(ours(wide), entry.transforms()(wide)[None])
    # 10 rows would become 256, and so 512,000 columns.
    ribbon = wide.resize((20_000, 10))
    message = r"is 10 x 20000: with its shorter side resized to 256 it would have 131,072,000 pixels, but at most"
    with pytest.raises(ValueError, match=message):
        ours(ribbon)
    with pytest.raises(ValueError, match=r"is 20000 x 10: .* crop it first"):
        ours(ribbon.transpose(Image.Transpose.ROTATE_90))
    # Where the proportions do not matter, it is only squeezed.
    theirs = ViTImageProcessor()
    ours = Preprocessing.from_huggingface(theirs.to_dict())
    same(ours(ribbon), theirs(ribbon, return_tensors="pt")["pixel_values"])


# ---- what cannot be


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dataclasses.replace(SQUARE, crop=(25, 24)), r"crop \(25, 24\) is larger than the picture, .* 24"),
        (lambda: dataclasses.replace(SQUARE, interpolation="random"), "interpolation must be one of .*, got 'random'"),
        (lambda: dataclasses.replace(SQUARE, mean=(0.5,) * 4, std=(0.5,) * 4), "must have 1 or 3 values, got 4 and 4"),
        (lambda: Preprocessing.from_timm({"crop_mode": "border"}), "crop mode must be .*, got 'border'"),
        (lambda: Preprocessing.from_timm({"input_size": (3, 96, 128)}), "images of 96 x 128 with crop mode 'center'"),
        (lambda: Preprocessing.from_huggingface({**VIT, "resample": 4}), "interpolation 'box' is Pillow's own: on_t"),
        (lambda: Preprocessing.from_huggingface({**VIT, "resample": 5}), "interpolation 'hamming' is Pillow's own"),
        (lambda: dataclasses.replace(SQUARE, on_tensor=1), "on_tensor must be True or False, got 1"),
        (lambda: Preprocessing.from_huggingface({**VIT, "resample": 9}), "interpolation must be one of .*, got 9"),
        (
            lambda: Preprocessing.from_huggingface({**VIT, "size": {"longest_edge": 9}}),
            "a size must .*'longest_edge': 9",
        ),
    ],
)
def test_bad_values_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


FIELDS = {"resize": 24, "crop": (24, 24), "interpolation": "bilinear", "mean": (0.5,) * 3, "std": (0.25,) * 3}
BAD = {
    "resize": [0, -1, 2.5, "24", None, True, (24,), (24, 0), (24, "24"), 10**9, (10**5, 10**5)],
    "crop": [0.5, "24", True, (24,), (0, 24), (24, -1), (24, 24.0), 10**9],
    "interpolation": [None, 3, "", [], ["bilinear"]],
    "mean": [None, "x", 0.5, (), (0.5,), (0.5, 0.5), (0.5, None, 0.5), (0.5, float("nan"), 0.5), (0.5, 2.0, 0.5)],
    "std": [None, "x", 0.5, (), (0.5,), (0.5, "0.5", 0.5), (0.5, 0.0, 0.5), (0.5, -0.1, 0.5), (0.5, float("inf"), 1.0)],
}


def test_sizes_may_come_as_one_number_or_as_lists():
    wanted = dataclasses.replace(SQUARE, resize=(24, 24), crop=(20, 20))
    for resize, crop in (([24, 24], [20, 20]), ((24, 24), 20)):
        other = dataclasses.replace(SQUARE, resize=resize, crop=crop)
        assert other == wanted and other.image_size == (20, 20)
        assert torch.equal(other(picture("RGB")), wanted(picture("RGB")))


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_is_looked_at(name):
    Preprocessing(**FIELDS)
    for value in BAD[name]:
        with pytest.raises(ValueError, match=name):
            Preprocessing(**{**FIELDS, name: value})
