import hashlib
import json

import pytest
import torch

from vit_course import data


@pytest.fixture(scope="module")
def shapes():
    return data.shapes(600, 100, 100, image_size=(24, 32))


def test_shapes_are_the_same_on_every_machine():
    d = data.shapes(300, 20, 10, image_size=(16, 24), seed=5)
    digest = hashlib.sha256()
    for part in (d.train, d.validation, d.test):
        for tensor in (part.images, part.labels, part.masks):
            digest.update(tensor.numpy().tobytes())
    assert digest.hexdigest() == "069a57a0c53cd083f58c3643a22c5c6217e0007b175fd8853bf4339a5b5395e0"


def test_shapes_parts_and_sizes(shapes):
    assert shapes.train.images.shape == (600, 3, 24, 32) and shapes.train.images.dtype == torch.uint8
    assert shapes.train.masks.shape == (600, 24, 32) and shapes.train.masks.dtype == torch.bool
    assert (len(shapes.train), len(shapes.validation), len(shapes.test)) == (600, 100, 100)
    assert shapes.image_size == (24, 32) and shapes.in_channels == 3
    assert set(shapes.train.labels.tolist()) == set(range(5)) and len(shapes.class_names) == 5
    assert not torch.equal(shapes.validation.images, shapes.test.images)
    assert not torch.equal(data.shapes(10, 1, 1, seed=1).train.images, data.shapes(10, 1, 1).train.images)


def test_the_mask_is_the_object(shapes):
    # Without noise an object has one colour: inside its mask the image is constant, and the mask is never empty.
    clean = data.shapes(50, 1, 1, image_size=(24, 32), noise=0, clutter=0).train
    for image, mask in zip(clean.images, clean.masks, strict=True):
        inside = image[:, mask]
        assert inside.shape[1] > 10
        assert (inside == inside[:, :1]).all()
        assert (image[:, ~mask] != inside[:, :1]).any(dim=0).float().mean() > 0.95
    area = shapes.train.masks.float().mean().item()
    assert 0.05 < area < 0.3


def test_the_source_says_what_was_asked_for():
    assert data.shapes(5, 4, 3, image_size=(9, 11), noise=0.25).source == {
        "source": "shapes", "num_train": 5, "num_validation": 4, "num_test": 3, "image_size": [9, 11], "noise": 0.25
    }  # fmt: skip
    assert data.shapes(5, 1000, 1000, image_size=13).source == {
        "source": "shapes", "num_train": 5, "image_size": 13
    }  # fmt: skip
    json.dumps(data.shapes(5, 4, 3, image_size=9, clutter=2, seed=3).source)
