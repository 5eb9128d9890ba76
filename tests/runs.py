"""Runs for tests: small models, a recipe with every option, an interrupted run, and values that are always wrong."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from vit_course import data
from vit_course._support.files.weights import load_weights, save_weights, write_tensors
from vit_course.config import ViTConfig
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
    """Begins a run in a folder and aborts it after so many epochs."""
    real, calls = loop.measured, itertools.count(1)

    def measured(*arguments, **options):
        if next(calls) > epochs:
            raise Killed
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "measured", measured)
        with pytest.raises(Killed):
            train(new_model(**changes), dataset, recipe, folder, progress=False)


def rewritten(path, change):
    """Writes a checkpoint anew, with what `change` makes of its tensors and metadata."""
    write_tensors(path, *change(*load_weights(path)))


def one_line(capsys, *words: str) -> None:
    """Asserts that a command has printed one line of an error, with these words in it."""
    error = capsys.readouterr().err
    assert all(word in error for word in words) and error.startswith("error: ") and error.count("\n") == 1, error


def write_pictures(folder, count=24):
    """Writes pictures of two classes, (H, W) = (20, 30); returns the folder."""
    for i in range(count):
        path = folder / f"class{i % 2}" / f"{i:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.RandomState(i).randint(0, 256, (20, 30, 3), dtype=np.uint8)).save(path)
    return folder


SIZES = dict(image_size=(8, 12), patch_size=4, num_classes=5, hidden_dim=8, num_layers=2, num_heads=2, mlp_dim=12)
IMAGES = {"class_names": list("abcde"), "mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.25]}
# Of every type that JSON has, and numbers that no size can be.
WRONG = [None, "3", "", [], [1], {}, {"a": 1}, True, 0, -1, 2.5, 10**9, 10**400, float("nan"), float("inf")]


def new_run(folder: Path) -> Path:
    """Writes a small run into the folder and returns the folder."""
    save_weights(folder / "best.safetensors", ViT(ViTConfig(**SIZES)))
    content = {"data": {}, "images": IMAGES, "model": ViTConfig(**SIZES).to_dict(), "training": {}}
    (folder / "config.json").write_text(json.dumps(content))
    return folder


def refused(call, *needed: str) -> str:
    """The message of the `ValueError` that the call raises, after asserting that it is one line with these words."""
    with pytest.raises(ValueError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text and len(text) < 1500
    assert all(word in text for word in needed), text
    return text


def header(run: Path, **config) -> Path:
    """Rewrites the run's weights with changes to the config in their header; returns the file."""
    path = run / "best.safetensors"
    tensors, metadata = load_weights(path)
    write_tensors(path, tensors, {"config": {**metadata["config"], **config}})
    return path
