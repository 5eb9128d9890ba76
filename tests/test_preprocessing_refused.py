"""Preprocessing that cannot be, and what is no picture."""

import dataclasses

import numpy as np
import pytest
import torch
from conftest import cases
from PIL import Image

from vit_course.pretrained import Preprocessing

SQUARE = Preprocessing(24, (24, 24), "bilinear", (0.5,) * 3, (0.25,) * 3)


def picture(mode: str) -> Image.Image:
    """A picture of 40 x 30 in a mode of Pillow's, with gentle slopes."""
    y, x = np.mgrid[:30, :40]
    colours = np.stack([5 * x, 8 * y, 250 - 3 * x - 4 * y], axis=-1).clip(0, 255).astype(np.uint8)
    return Image.fromarray(colours).convert(mode)


def test_what_is_no_picture(tmp_path):
    with pytest.raises(ValueError, match=r"there is no file .*none\.jpg"):
        SQUARE(tmp_path / "none.jpg")
    (tmp_path / "text.jpg").write_text("not a photograph")
    with pytest.raises(ValueError, match=r"text\.jpg is no readable image"):
        SQUARE(tmp_path / "text.jpg")
    picture("RGB").resize((400, 300)).save(tmp_path / "whole.jpg")
    (tmp_path / "part.jpg").write_bytes((tmp_path / "whole.jpg").read_bytes()[:2000])
    with pytest.raises(ValueError, match=r"part\.jpg is no readable image"):
        SQUARE(tmp_path / "part.jpg")
    with (
        Image.open(tmp_path / "part.jpg") as lazy,
        pytest.raises(ValueError, match=r"the picture is no readable image: .*truncated"),
    ):
        SQUARE(lazy)
    with pytest.raises(ValueError, match="a path, bytes, a file or a PIL image, got Tensor"):
        SQUARE(torch.zeros(3, 24, 24))


@cases(
    ("make", "message"),
    [
        (lambda: dataclasses.replace(SQUARE, crop=(25, 24)), r"crop \(25, 24\) is larger than the picture, .* 24"),
        (lambda: dataclasses.replace(SQUARE, resize=0), "resize must be a positive int or a pair .*, got 0"),
        (lambda: dataclasses.replace(SQUARE, interpolation="random"), "interpolation must be one of .*, got 'random'"),
        (lambda: dataclasses.replace(SQUARE, mean=(0.5,)), "must have 1 or 3 values, got 1 and 3"),
        (lambda: dataclasses.replace(SQUARE, mean=(0.5,) * 4, std=(0.5,) * 4), "must have 1 or 3 values, got 4 and 4"),
        (lambda: Preprocessing.from_timm({"crop_mode": "border"}), "crop mode must be .*, got 'border'"),
        (lambda: Preprocessing.from_timm({"input_size": (3, 96, 128)}), "images of 96 x 128 with crop mode 'center'"),
        (
            lambda: Preprocessing.from_huggingface({"image_processor_type": "BeitImageProcessor"}),
            "that of a BeitImageProcessor; known here are those of ViT, DeiT, CLIP, Bit, Siglip",
        ),
        (lambda: Preprocessing.from_huggingface({"do_rescale": False}), "do_rescale is false"),
        (
            lambda: Preprocessing.from_huggingface({"rescale_factor": 1 / 127.5}),
            "rescale_factor must be 1/255, got 0.00",
        ),
        (
            lambda: Preprocessing.from_huggingface({"resample": 4}),
            "interpolation 'box' is Pillow's own: on_t",
        ),
        (lambda: Preprocessing.from_huggingface({"resample": 5}), "interpolation 'hamming' is Pillow's own"),
        (lambda: Preprocessing.from_huggingface([]), "the preprocessing of Hugging Face must be an object"),
        (lambda: Preprocessing.from_timm("center"), "the preprocessing of timm must be an object"),
        (lambda: dataclasses.replace(SQUARE, on_tensor=1), "on_tensor must be True or False, got 1"),
        (lambda: Preprocessing.from_huggingface({"resample": 9}), "resample must be one of 0, 1, .*, got 9"),
        (lambda: Preprocessing.from_huggingface({"size": {"longest_edge": 9}}), "a size must be .*'longest_edge': 9"),
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


@cases("name", FIELDS)
def test_every_field_is_looked_at(name):
    Preprocessing(**FIELDS)
    for value in BAD[name]:
        with pytest.raises(ValueError, match=name):
            Preprocessing(**{**FIELDS, name: value})
