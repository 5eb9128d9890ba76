"""The [data] part of a recipe."""

import tomllib

import pytest
import torch
from conftest import cases

from vit_course import data
from vit_course.inputs.sources import SOURCES
from vit_course.training.recipe import RECIPES


def test_a_source_makes_the_same_images_again():
    made = data.shapes(7, 5, 3, image_size=(9, 13), seed=4)
    again = data.from_recipe(made.source)
    assert torch.equal(again.train.images, made.train.images) and again.source == made.source
    assert torch.equal(data.from_recipe(data.digits(seed=3).source).test.labels, data.digits(seed=3).test.labels)
    assert data.digits(seed=3).source == {"source": "digits", "seed": 3}


def test_the_recipes_of_the_package_have_known_data(monkeypatch):
    for name in data.sources.KNOWN:
        monkeypatch.setitem(data.sources.KNOWN, name, lambda name=name: name)
    for path in RECIPES.glob("*.toml"):
        values = tomllib.loads(path.read_text(encoding="utf-8"))["data"]
        assert data.from_recipe(values) == values["source"]


def test_what_is_no_source_is_told_all_of_them():
    with pytest.raises(ValueError, match=f"data must be {', '.join(SOURCES)} or an existing folder, got 'shape'"):
        data.from_recipe({"source": "shape"})


@cases(
    ("values", "message"),
    [
        ({}, "or an existing folder, got None"),
        ({"source": "shape"}, "or an existing folder, got 'shape'"),
        ({"source": ""}, "or an existing folder, got ''"),
        ({"source": 5}, "or an existing folder, got 5"),
        ({"source": ["shapes"]}, r"or an existing folder, got \['shapes'\]"),
        ({"source": __file__}, "or an existing folder, got '"),
        ("shapes", "the data of a recipe are given as in .*, got 'shapes'"),
        (None, "the data of a recipe are given as in .*, got None"),
        ({"source": "digits", "num_train": 9}, "^num_train is for shapes, and digits takes seed$"),
        ({"source": "digits", "on_disk": True}, "^on_disk is for a folder, and digits takes seed$"),
        (
            {"source": "cifar10", "image_size": 9},
            "^image_size is for shapes and a folder, and cifar10 takes root, downl",
        ),
        (
            {"source": "shapes", "root": "data"},
            "^root is for cifar10, and shapes takes num_train, num_validation, num_",
        ),
        ({"source": "shapes", "colour": 1}, "^no data have 'colour', and shapes takes num_train"),
        ({"source": "shapes", 3: 1}, "^no data have 3, and shapes takes num_train"),
        ({"source": "shapes", "num_train": "9"}, "^num_train must be an int of at least 1, got '9'$"),
        ({"source": "shapes", "num_train": {}}, "^num_train must be an int of at least 1, got {}$"),
    ],
)
def test_a_part_that_makes_no_dataset(values, message):
    with pytest.raises(ValueError, match=message):
        data.from_recipe(values)


def test_a_folder_takes_what_a_folder_takes(tmp_path):
    with pytest.raises(
        ValueError, match=rf"^num_train is for shapes, and the folder {tmp_path} takes image_size, seed, on"
    ):
        data.from_recipe({"source": str(tmp_path), "num_train": 9})
    with pytest.raises(ValueError, match=r"^root is for cifar10, and the folder"):
        data.from_recipe({"source": str(tmp_path), "root": "elsewhere"})
