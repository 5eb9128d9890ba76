"""Numbers that are none any more, and a model that cannot be compiled."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from conftest import cases
from runs import RECIPE, new_model

from vit_course import data
from vit_course.files.weights import load_weights
from vit_course.training import loop, train


@pytest.fixture(scope="module")
def dataset():
    return data.shapes(100, 40, 40, image_size=(12, 8))


def test_a_loss_that_is_no_number_leaves_the_last_epoch(dataset, tmp_path, monkeypatch):
    real, calls = loop.F.cross_entropy, []

    def spoiled(*arguments, **options):
        calls.append(1)
        loss = real(*arguments, **options)
        return loss * math.nan if len(calls) == 9 else loss  # 4 steps and 1 evaluation an epoch: in epoch 2

    monkeypatch.setattr(loop.F, "cross_entropy", spoiled)
    with pytest.raises(ValueError, match=r"the loss is nan in epoch 2/3, step 4: a smaller learning_rate than 0.001"):
        train(new_model(), dataset, RECIPE, tmp_path / "cut", progress=False)
    monkeypatch.undo()
    history = train(new_model(), dataset, RECIPE, tmp_path / "whole", progress=False)
    assert train(new_model(), dataset, RECIPE, tmp_path / "cut", resume=True, progress=False) == history


@cases("clip_norm", [1.0, 0.0])
def test_a_gradient_that_is_no_number_is_not_stepped_with(clip_norm, dataset, tmp_path):
    recipe = replace(RECIPE, clip_norm=clip_norm)
    model, steps = new_model(), itertools.count(1)
    model.head.bias.register_hook(lambda gradient: gradient * math.nan if next(steps) == 8 else gradient)
    message = r"the loss is finite, but the length of the gradient nan in epoch 2/3, step 4: a smaller learning_rate"
    with pytest.raises(ValueError, match=message):  # the last step of the epoch
        train(model, dataset, recipe, tmp_path, progress=False)
    assert all(p.isfinite().all() for p in model.parameters())
    history = train(new_model(), dataset, recipe, progress=False)
    assert train(new_model(), dataset, recipe, tmp_path, resume=True, progress=False) == history


def test_weights_that_are_no_numbers_are_not_saved(dataset, tmp_path, monkeypatch):
    model, steps = new_model(), itertools.count(1)
    real = loop.AveragedModel.update_parameters
    monkeypatch.setattr(loop.AveragedModel, "update_parameters", lambda *a: (spoiling_step(), real(*a)))

    def spoiling_step():
        if next(steps) == 8:
            with torch.no_grad():
                model.head.bias.fill_(math.nan)

    with pytest.raises(ValueError, match=r"the validation loss is nan after epoch 2/3: a smaller learning_rate than"):
        train(model, dataset, RECIPE, tmp_path, progress=False)
    for name in ("best.safetensors", "last.safetensors"):
        tensors, _ = load_weights(tmp_path / name)
        assert all(value.isfinite().all() for value in tensors.values())
    assert len(load_weights(tmp_path / "last.safetensors")[1]["history"]) == 1


@pytest.mark.slow
def test_a_model_that_cannot_be_compiled(dataset, tmp_path, monkeypatch):
    import torch._inductor.config as inductor

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    with (
        inductor.patch({"cpp.cxx": (None, "/no/such/compiler"), "fx_graph_cache": False}),
        pytest.raises(ValueError, match=r"^the model cannot be compiled \(.*compiler.*needs a C\+\+ compiler.*longer$"),
    ):
        train(new_model(), dataset, RECIPE, progress=False, compiled=True)
