"""What a `TrainingConfig` refuses, and that every recipe of ours is taken."""

import re
import tomllib
from dataclasses import fields

import numpy as np
import pytest
from conftest import cases

from vit_course.training.recipe import RECIPES, RULES, TrainingConfig

INTS = {"epochs": 1, "batch_size": 1, "padding": 0, "cutout": 0, "seed": 0}
SHARES = ("warmup", "beta2", "label_smoothing", "average")
NUMBERS = ("learning_rate", "weight_decay", "clip_norm")
NO_NUMBERS = ["x", None, True, [1], float("nan"), np.float32(0.5)]


def test_every_field_has_a_rule():
    assert set(RULES) == {field.name for field in fields(TrainingConfig)}


@cases("path", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_recipes_are_taken(path):
    given = tomllib.loads(path.read_text(encoding="utf-8"))["training"]
    assert {name: getattr(TrainingConfig(**given), name) for name in given} == given


@cases("name", INTS)
@cases("value", [-1, 1.0, 1.5, *NO_NUMBERS, np.int64(3)])
def test_ints(name, value):
    sentence = rf"^{name} must be (an int of )?at least {INTS[name]}, got {re.escape(repr(value))}$"
    with pytest.raises(ValueError, match=sentence):
        TrainingConfig(**{name: value})


@cases("name", INTS)
def test_ints_have_an_upper_end(name):
    with pytest.raises(ValueError, match=rf"^{name} must be at most \d+, got 4294967296$"):
        TrainingConfig(**{name: 2**32})


def test_the_largest_seed_of_numpy_is_taken():
    assert TrainingConfig(seed=2**32 - 1).seed == 2**32 - 1


@cases("name", [*SHARES, *NUMBERS])
@cases("value", NO_NUMBERS)
def test_what_is_no_number(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be a number, got "):
        TrainingConfig(**{name: value})


@cases("name", [*SHARES, *NUMBERS])
@cases("value", [-1, -0.5, float("inf"), -float("inf"), 1e9, 10**400])
def test_numbers_out_of_range(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be (at least 0|greater than 0|at most)"):
        TrainingConfig(**{name: value})


@cases("value", ["no", 0, None, np.bool_(True)])
def test_flip(value):
    with pytest.raises(ValueError, match=r"^flip must be True or False, got "):
        TrainingConfig(flip=value)


@cases("name", ["optimiser", "precision"])
@cases("value", ["", "sgd", None, 32, ["adamw"]])
def test_words(name, value):
    with pytest.raises(ValueError, match=rf"^{name} must be '\w+' or '\w+', got "):
        TrainingConfig(**{name: value})
