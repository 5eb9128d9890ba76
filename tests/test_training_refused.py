"""What cannot be trained, evaluated or compared with, said before anything is done."""

import pytest
import torch
from conftest import cases
from runs import RECIPE, new_model
from torch import nn

from vit_course.data import shapes
from vit_course.training import TrainingConfig, evaluate, linear_baseline, train

DATASET = shapes(num_train=9, num_validation=4, num_test=3, image_size=(12, 8))


@cases(
    ("changes", "error", "message"),
    [
        ({"progress": "no"}, ValueError, "progress must be True or False, got 'no'"),
        ({"resume": 1}, ValueError, "resume must be True or False, got 1"),
        ({"compiled": None}, ValueError, "compiled must be True or False, got None"),
        ({"run_dir": "a\0b"}, ValueError, "run_dir must be one that a file can have, got 'a.*x00b'"),
        ({"run_dir": "\ud800"}, ValueError, "run_dir must be one that a file can have"),
        ({"run_dir": 3}, ValueError, "run_dir must be a str or a Path, got 3"),
        ({"accumulate": 10**5000}, ValueError, "accumulate must be at most 1000000, got an int too long to show"),
        ({"accumulate": 0}, ValueError, "accumulate must be at least 1, got 0"),
        ({"workers": -1}, ValueError, "workers must be at least 0, got -1"),
        ({"model": {}}, TypeError, "model must be a torch.nn.Module, got dict"),
        ({"dataset": DATASET.train}, TypeError, "dataset must be a Dataset, got ImageSet"),
        ({"config": {}}, TypeError, "config must be a TrainingConfig, got dict"),
    ],
)
def test_arguments_that_are_none(changes, error, message):
    with pytest.raises(error, match=message):
        train(**{"model": new_model(), "dataset": DATASET, "config": RECIPE, "progress": False, **changes})


@cases(
    ("changes", "error", "message"),
    [
        ({"model": None}, TypeError, "model must be a torch.nn.Module, got NoneType"),
        ({"images": DATASET}, TypeError, "images must be an ImageSet or ImageFiles, got Dataset"),
        ({"images": DATASET.test.images}, TypeError, "images must be an ImageSet or ImageFiles, got Tensor"),
        ({"dataset": DATASET.test}, TypeError, "dataset must be a Dataset, got ImageSet"),
        ({"batch_size": 2.0}, ValueError, "batch_size must be an int of at least 1, got 2.0"),
        ({"batch_size": 10**400}, ValueError, "batch_size must be at most 1000000, got 1000"),
    ],
)
def test_what_cannot_be_evaluated(changes, error, message):
    with pytest.raises(error, match=message):
        evaluate(**{"model": new_model(), "images": DATASET.test, "dataset": DATASET, **changes})


@cases("device", ["nothing", "meta", torch.tensor(0.5), None, 2.5, "", 10**400])
def test_a_device_that_is_none(device):
    with pytest.raises(ValueError, match=r"^device .*(is not available here: .|holds no numbers)"):
        linear_baseline(DATASET, device=device)


def test_a_baseline_of_no_recipe():
    with pytest.raises(TypeError, match="recipe must be a TrainingConfig, got dict"):
        linear_baseline(DATASET, recipe={})


def test_a_baseline_of_no_dataset():
    with pytest.raises(TypeError, match="dataset must be a Dataset, got ImageSet"):
        linear_baseline(DATASET.train)


def test_a_momentum_of_the_whole_number_zero():
    recipe = TrainingConfig(epochs=1, batch_size=4, beta2=0)
    (row,) = train(nn.Sequential(nn.Flatten(), nn.Linear(288, 5)), DATASET, recipe, progress=False)
    assert row["validation_accuracy"] <= 1
