"""Drawn pictures, damaged files and arguments for the data: a right result, or a sentence of ours."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from runs import write_pictures
from strategies import (
    ANYTHING,
    REFUSED,
    bytes_of,
    damaged,
    edited,
    fuzz,
    given_by_name,
    is_tame,
    mostly,
    outcome,
    pictures,
    tensors,
)

from vit_course.data import Dataset, ImageFiles, ImageSet, shift_and_flip
from vit_course.data.augment import cut_out, shift_images
from vit_course.data.from_recipe import from_recipe
from vit_course.data.loading import load_batches
from vit_course.data.pictures import open_image, open_picture
from vit_course.pretrained import Preprocessing

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*has values of:UserWarning")]
PICTURES = pictures()
SIZE = mostly(st.sampled_from([8, 9, (5, 3), [3, 5]]))
IMAGES = tensors(5, 3, 6, 8, dtype=torch.uint8, make=bytes_of)
LABELS = tensors(5, dtype=torch.int64, make=lambda x: x.abs().clamp(max=3))
SHARE = st.floats(0, 1)
PREPROCESSING = dict(
    resize=st.sampled_from([9, (6, 8), [8, 6]]),
    crop=st.sampled_from([None, (4, 5)]),
    interpolation=st.sampled_from(["bilinear", "bicubic", "nearest", "box", "lanczos"]),
    mean=st.sampled_from([(0.5,), (0.1, 0.2, 0.3)]),
    std=st.sampled_from([(0.5,), (0.1, 0.2, 0.3)]),
    on_tensor=st.booleans(),
)


@pytest.fixture(autouse=True)
def few_pixels(monkeypatch):
    # A damaged head can promise any size: no test is to take gigabytes.
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10**6)


def look_at(source, size=None):
    picture = outcome(open_picture, source)
    if picture is not REFUSED:
        assert picture.mode == "RGB" and min(picture.size) > 0
    image = outcome(open_image, source, size)
    if image is not REFUSED:
        assert image.dtype == torch.uint8 and image.shape[0] == 3 and image.is_contiguous()
        if size is not None:
            assert tuple(image.shape[1:]) == (tuple(size) if isinstance(size, (tuple, list)) else (size, size))


@fuzz(700)
@given(st.data(), SIZE | st.none())
def test_a_damaged_picture_is_opened_or_refused(data, size):
    name = data.draw(st.sampled_from(sorted(PICTURES)))
    look_at(data.draw(damaged(PICTURES[name])), size)


@fuzz(200)
@given(st.binary(max_size=50) | ANYTHING, SIZE)
def test_what_may_be_no_picture_is_opened_or_refused(source, size):
    look_at(source, size)


def test_pictures_of_every_format_are_drawn():
    assert len(PICTURES) > 60 and {"PNG RGB", "JPEG L", "GIF P", "TIFF I;16", "WEBP RGBA"} <= PICTURES.keys()
    for name, content in PICTURES.items():
        assert name.startswith(("ICO", "ICNS")) or open_image(content).shape == (3, 5, 7), name


@fuzz(150)
@given(given_by_name(**PREPROCESSING), st.sampled_from(["PNG RGB", "PNG L", "GIF P"]))
def test_a_preprocessing_gives_its_size_or_is_refused(values, name):
    preprocess = outcome(Preprocessing, **values)
    if preprocess is REFUSED:
        return
    images = outcome(preprocess, PICTURES[name])
    if images is not REFUSED:
        assert images.shape[:2] == (1, len(values["mean"])) and images.isfinite().all()
        assert preprocess.image_size is None or images.shape[2:] == preprocess.image_size


TIMM = {"input_size": [3, 8, 8], "crop_pct": 0.9, "crop_mode": "center", "interpolation": "bicubic", "mean": [0.5] * 3}
HUGGINGFACE = {
    **{"image_processor_type": "ViTImageProcessor", "size": {"height": 8, "width": 9}, "resample": 2},
    **{"do_resize": True, "rescale_factor": 1 / 255, "image_mean": [0.5] * 3, "image_std": [0.5] * 3},
    **{"do_center_crop": True, "crop_size": {"height": 8, "width": 8}},
}


@fuzz(200)
@given(edited(TIMM), edited(HUGGINGFACE))
def test_a_published_preprocessing_is_read_or_refused(timm, huggingface):
    assert outcome(Preprocessing.from_timm, timm) is REFUSED or isinstance(timm, dict)
    assert outcome(Preprocessing.from_huggingface, huggingface) is REFUSED or isinstance(huggingface, dict)


@fuzz(200)
@given(
    given_by_name(images=IMAGES, labels=LABELS, masks=st.none() | tensors(5, 6, 8, dtype=torch.bool)),
    given_by_name(
        name=st.just("drawn"), class_names=st.just(tuple("abcd")), mean=st.tuples(SHARE, SHARE, SHARE),
        std=st.tuples(SHARE, SHARE, SHARE), source=st.just({}),
    ),
    IMAGES, st.slices(5) | st.lists(st.integers(-6, 6), max_size=3) | tensors(3, dtype=torch.int64) | ANYTHING,
)  # fmt: skip
def test_a_dataset_normalises_and_chooses_or_is_refused(values, rest, images, index):
    part = outcome(ImageSet, **values)
    if part is REFUSED:
        return
    chosen = outcome(part.__getitem__, index)
    assert chosen is REFUSED or chosen.images.shape[1:] == part.images.shape[1:]
    dataset = outcome(Dataset, train=part, validation=part, test=part, **rest)
    if dataset is REFUSED:
        return
    normal = outcome(dataset.normalise, images)
    if normal is not REFUSED and is_tame(images):
        assert normal.isfinite().all()
    batches = outcome(lambda: list(load_batches(part, [torch.tensor([0, 2]), torch.tensor([1])])))
    assert batches is REFUSED or [len(batch) for batch in batches] == [2, 1]


@fuzz(200)
@given(
    IMAGES | tensors(5, 3, 6, 8),
    mostly(st.integers(0, 5)), mostly(st.booleans()),
    mostly(st.just(torch.Generator())), mostly(st.integers(0, 9)),
    tensors(5, 3, dtype=torch.int64), tensors(5, 2, dtype=torch.int64, make=lambda x: x.abs()),
)  # fmt: skip
def test_augmented_images_keep_their_shape_or_are_refused(images, padding, flip, generator, side, shifts, places):
    for made in (
        outcome(shift_and_flip, images, padding, flip, generator),
        outcome(shift_images, images, shifts, padding),
        outcome(cut_out, images, places, side),
    ):
        assert made is REFUSED or (made.shape == images.shape and made.dtype == images.dtype)


RECIPE = {"source": "shapes", "num_train": 3, "num_validation": 2, "num_test": 2, "image_size": [8, 9], "noise": 0.1}


@fuzz(150)
@given(edited(RECIPE))
def test_the_data_of_a_recipe_are_made_or_refused(values):
    # Digits, and the shapes in their usual number, take long.
    if isinstance(values, dict) and values.get("source") == "shapes" and values.keys() >= RECIPE.keys():
        dataset = outcome(from_recipe, values)
        if dataset is not REFUSED:
            assert len(dataset.train) == values["num_train"] and dataset.train.masks.any(dim=(1, 2)).all()
            assert from_recipe(dataset.source).train.images.equal(dataset.train.images)
    elif not isinstance(values, dict) or values.get("source") != "shapes":
        assert outcome(from_recipe, values) is REFUSED


@fuzz(60)
@given(st.data())
def test_files_that_are_damaged_are_left_out(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("files")
    names = data.draw(st.lists(st.sampled_from(sorted(PICTURES)), min_size=1, max_size=3))
    for number, name in enumerate(names):
        (folder / str(number)).write_bytes(data.draw(damaged(PICTURES[name])))
    paths = data.draw(mostly(st.just(np.array([str(folder / str(n)) for n in range(len(names))]))))
    files = outcome(ImageFiles, paths, torch.zeros(len(names), dtype=torch.int64), data.draw(SIZE))
    if files is not REFUSED:
        found = outcome(files.__getitem__, slice(None))
        assert found is REFUSED or len(found) + len(found.unreadable) == len(names)


@fuzz(40)
@given(given_by_name(image_size=SIZE, on_disk=st.booleans(), seed=st.integers(0, 9)))
def test_a_folder_of_pictures_is_read_or_refused(tmp_path_factory, values):
    folder = tmp_path_factory.getbasetemp() / "pictures"
    if not folder.exists():
        write_pictures(folder)
    dataset = outcome(from_recipe, {"source": str(folder), **values})
    assert dataset is REFUSED or dataset.class_names == ("class0", "class1")
