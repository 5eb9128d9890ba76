"""Runs for tests: a small model, a recipe that uses everything, a run that is cut off."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from vit_course import data
from vit_course.config import ViTConfig
from vit_course.files.weights import load_weights, write_tensors
from vit_course.training import TrainingConfig, loop, train
from vit_course.vit import ViT

CONFIG = ViTConfig(
    image_size=(12, 8), patch_size=4, num_classes=5, hidden_dim=16, num_layers=2, num_heads=2, mlp_dim=24, dropout=0.1
)
RECIPE = TrainingConfig(epochs=3, batch_size=32, padding=2, flip=True, average=0.9, optimiser="muon")


def new_model(**changes) -> ViT:
    data.seed_everything(7)
    return ViT(replace(CONFIG, **changes))


def same(a: nn.Module, b: nn.Module) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Killed(Exception):
    pass


def cut_after(epochs, monkeypatch, folder, dataset, recipe, **changes):
    """Begins a run in a folder and ends it in the epoch after so many."""
    real, calls = loop.evaluate, itertools.count(1)

    def evaluate(*arguments, **options):
        if next(calls) > epochs:
            raise Killed
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "evaluate", evaluate)
        with pytest.raises(Killed):
            train(new_model(**changes), dataset, recipe, folder, progress=False)


def rewritten(path, change):
    """Writes a checkpoint anew, with what `change` makes of its tensors and metadata."""
    write_tensors(path, *change(*load_weights(path)))


def write_pictures(folder, count=24):
    """Writes pictures of two classes, (H, W) = (20, 30); returns the folder."""
    for i in range(count):
        path = folder / f"class{i % 2}" / f"{i:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.RandomState(i).randint(0, 256, (20, 30, 3), dtype=np.uint8)).save(path)
    return folder
