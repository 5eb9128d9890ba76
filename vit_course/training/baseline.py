"""The accuracy to beat: that of a linear classifier on the pixels."""

import math

import torch
from torch import nn

from vit_course.data import Dataset, seed_everything
from vit_course.training.checking import available_device, check_kind
from vit_course.training.evaluation import evaluate
from vit_course.training.loop import train
from vit_course.training.recipe import TrainingConfig


def linear_baseline(
    dataset: Dataset,
    epochs: int = 10,
    seed: int = 0,
    device: str | torch.device = "cpu",
    recipe: TrainingConfig | None = None,
) -> float:
    """Trains a linear classifier on the pixels by the same loop, and returns its test accuracy.

    Args:
        dataset: from `vit_course.data`.
        epochs: passes over the training set.
        seed: of initialisation and order.
        device: where it is trained.
        recipe: how it is trained. Its epochs and seed then replace the two above. By default it is that of
            `TrainingConfig`, whose rate may be too low for few pixels.

    Raises:
        TypeError, ValueError: as `train`; or no such device here.
    """
    check_kind("dataset", dataset, Dataset)
    recipe = TrainingConfig(epochs=epochs, seed=seed) if recipe is None else recipe
    check_kind("recipe", recipe, TrainingConfig)
    device = available_device(device)
    seed_everything(recipe.seed)
    inputs = dataset.in_channels * math.prod(dataset.image_size)
    model = nn.Sequential(nn.Flatten(), nn.Linear(inputs, len(dataset.class_names))).to(device)
    train(model, dataset, recipe, progress=False)
    return evaluate(model, dataset.test, dataset)[1]
