"""The training loop."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import thoroughly
from PIL import Image
from runs import RECIPE as RUN
from runs import new_model, same
from torch import nn

from vit_course import data
from vit_course._support.files.weights import load_weights
from vit_course.config import ViTConfig
from vit_course.training import TrainingConfig, evaluate, linear_baseline, loop, supervised, train
from vit_course.vit import ViT

RECIPE = TrainingConfig(epochs=3, batch_size=32, padding=2, flip=True, label_smoothing=0.1)


@pytest.mark.slow
def test_training_learns_digits():
    dataset = data.digits()
    data.seed_everything(0)
    model = ViT(ViTConfig(image_size=8, patch_size=2, in_channels=1, num_classes=10, hidden_dim=32, num_layers=2,
                          num_heads=4, mlp_dim=64))  # fmt: skip
    history = train(model, dataset, TrainingConfig(epochs=12, batch_size=64, learning_rate=3e-3), progress=False)
    _, accuracy = evaluate(model, dataset.test, dataset)
    assert accuracy > 0.85
    assert history[0]["train_loss"] < 1.1 * math.log(10) and history[-1]["train_loss"] < history[0]["train_loss"] / 3
    assert set(history[0]) == {
        "epoch", "learning_rate", "train_loss", "train_accuracy", "validation_loss", "validation_accuracy"
    }  # fmt: skip


@pytest.mark.slow
def test_a_baseline_is_trained_by_the_recipe():
    dataset = data.digits()
    slow = TrainingConfig(epochs=2, batch_size=64, learning_rate=1e-4, seed=3)
    low, high = (linear_baseline(dataset, recipe=replace(slow, learning_rate=rate)) for rate in (1e-4, 3e-2))
    assert low < 0.5 and high > 0.85
    # Without one: the default recipe with these epochs and this seed.
    assert linear_baseline(dataset, 2, 3) == linear_baseline(dataset, recipe=TrainingConfig(epochs=2, seed=3))
    # The recipe's seed counts, and not the one beside it.
    assert linear_baseline(dataset, seed=7, recipe=slow) == low


class Spy(nn.Module):
    """Keeps in `seen` each batch that it got, and whether it was in training mode."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(288, 5)
        self.seen = []

    def forward(self, images):
        self.seen.append((self.training, images.detach().clone()))
        return self.linear(images.flatten(1))


def test_the_same_seed_gives_the_same_weights(dataset):
    models = [new_model() for _ in range(3)]
    for model, seed in zip(models, (0, 0, 1), strict=True):
        train(model, dataset, replace(RECIPE, seed=seed), progress=False)
    assert same(*models[:2]) and not same(*models[1:])


def test_every_image_once_an_epoch_and_the_short_batch_too(dataset):
    model = Spy()
    train(model, dataset, TrainingConfig(epochs=1, batch_size=32), progress=False)
    seen = [images for training, images in model.seen if training]
    assert [len(batch) for batch in seen] == [32, 32, 32, 4]
    rows = sorted(map(tuple, torch.cat(seen).flatten(1).tolist()))
    assert rows == sorted(map(tuple, dataset.normalise(dataset.train.images).flatten(1).tolist()))


def test_evaluate_by_hand_in_eval_mode_and_mode_restored(dataset):
    model = new_model().train()
    loss, accuracy = evaluate(model, dataset.test, dataset, batch_size=7)
    assert model.training
    model.eval()
    logits = model(dataset.normalise(dataset.test.images))
    assert loss == pytest.approx(nn.functional.cross_entropy(logits, dataset.test.labels).item(), abs=1e-5)
    assert accuracy == (logits.argmax(1) == dataset.test.labels).sum().item() / 40


def test_clipping_and_smoothing_are_applied(dataset, monkeypatch):
    seen = {}
    clip, loss = nn.utils.clip_grad_norm_, supervised.F.cross_entropy
    monkeypatch.setattr(nn.utils, "clip_grad_norm_", lambda p, n: seen.update(clip=n) or clip(p, n))

    def spy(*arguments, **options):
        if arguments[0].requires_grad:
            seen.update(options)
        return loss(*arguments, **options)

    monkeypatch.setattr(supervised.F, "cross_entropy", spy)
    train(new_model(), dataset, TrainingConfig(epochs=1, clip_norm=0.5, label_smoothing=0.2), progress=False)
    assert seen == {"clip": 0.5, "label_smoothing": 0.2}
    seen.clear()
    train(new_model(), dataset, TrainingConfig(epochs=1, clip_norm=0), progress=False)
    assert "clip" not in seen


@pytest.mark.parametrize(
    ("accumulate", "on_disk", "at_once"),
    [(1, False, [40]), (2, False, [15, 15, 10]), (1, True, [30, 10]), (4, True, [8] * 5)],
)
def test_validation_takes_no_more_images_than_fit_into_memory(accumulate, on_disk, at_once, dataset, tmp_path):
    if on_disk:
        paths = np.array([str(tmp_path / f"{i}.png") for i in range(40)])
        for path, image in zip(paths, dataset.validation.images, strict=True):
            Image.fromarray(image.permute(1, 2, 0).numpy()).save(path)
        dataset = replace(dataset, validation=data.ImageFiles(paths, dataset.validation.labels, (12, 8)))
    model = Spy()
    train(model, dataset, TrainingConfig(epochs=1, batch_size=30), progress=False, accumulate=accumulate)
    assert [len(images) for training, images in model.seen if not training] == at_once


def test_mixed_precision_keeps_weights_and_loss_in_float32(dataset, monkeypatch):
    seen, losses, histories = set(), set(), []
    real = supervised.F.cross_entropy

    def spy(logits, labels, **options):
        loss = real(logits, labels, **options)
        losses.add((logits.dtype, loss.dtype))
        return loss

    monkeypatch.setattr(supervised.F, "cross_entropy", spy)
    for precision in ("bfloat16", "float32"):
        model = new_model()
        layer = model.encoder.blocks[0].mlp.expand
        layer.register_forward_hook(lambda m, i, out, how=precision: seen.add((how, m.training, out.dtype)))
        histories.append(train(model, dataset, TrainingConfig(epochs=2, precision=precision), progress=False))
        assert all(p.dtype == torch.float32 for p in model.parameters())
    # Validation is always in float32.
    assert seen == {
        ("bfloat16", True, torch.bfloat16), ("bfloat16", False, torch.float32),
        ("float32", True, torch.float32), ("float32", False, torch.float32),
    }  # fmt: skip
    assert losses == {(torch.float32, torch.float32)}
    low, full = (history[-1]["train_loss"] for history in histories)
    assert low != full and low == pytest.approx(full, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"accumulate": 5}, *thoroughly({"compiled": True})], ids=str)
def test_parts_of_a_batch_and_a_compiled_model_give_the_same_gradient(options, dataset, monkeypatch, float64):
    # The default backend needs a C++ compiler; which backend it is makes no difference to the loop.
    real = torch.compile
    monkeypatch.setattr(torch, "compile", lambda model: real(model, backend="aot_eager"))
    recipe = TrainingConfig(epochs=2, batch_size=48, padding=2, flip=True)
    models = []
    for each in ({}, options):
        # A bias of the keys has no gradient but rounding, of which AdamW makes whole steps.
        models.append(new_model(dropout=0.0, qkv_bias=False))
        train(models[-1], dataset, recipe, progress=False, **each)
    for one, other in zip(*(model.state_dict().values() for model in models), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_training_images_are_cut_and_validation_images_are_not(dataset):
    model = Spy()
    train(model, dataset, TrainingConfig(epochs=1, batch_size=32, cutout=4), progress=False)
    blank = {True: [], False: []}
    for training, images in model.seen:
        blank[training] += (images == 0).all(dim=1).sum(dim=(1, 2)).tolist()
    assert len(blank[True]) == 100 and set(blank[False]) == {0}
    # 16 pixels, fewer at an edge, and not always the same part.
    assert max(blank[True]) == 16 and min(blank[True]) >= 4 and len(set(blank[True])) > 3


# ---- numbers that are none any more, and no compiler


@pytest.mark.slow
def test_a_loss_that_is_no_number_leaves_the_last_epoch(dataset, tmp_path, monkeypatch):
    real, calls = supervised.F.cross_entropy, []

    def spoiled(*arguments, **options):
        calls.append(1)
        loss = real(*arguments, **options)
        return loss * math.nan if len(calls) == 9 else loss  # 4 steps and 1 evaluation an epoch: in epoch 2

    monkeypatch.setattr(supervised.F, "cross_entropy", spoiled)
    with pytest.raises(ValueError, match=r"the loss is nan in epoch 2/3, step 4: a smaller learning_rate than 0.001"):
        train(new_model(), dataset, RUN, tmp_path / "cut", progress=False)
    monkeypatch.undo()
    history = train(new_model(), dataset, RUN, tmp_path / "whole", progress=False)
    assert train(new_model(), dataset, RUN, tmp_path / "cut", resume=True, progress=False) == history


@pytest.mark.slow
@pytest.mark.parametrize("clip_norm", [1.0, 0.0])
def test_a_gradient_that_is_no_number_is_not_stepped_with(clip_norm, dataset, tmp_path):
    recipe = replace(RUN, clip_norm=clip_norm)
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
        train(model, dataset, RUN, tmp_path, progress=False)
    for name in ("best.safetensors", "last.safetensors"):
        tensors, _ = load_weights(tmp_path / name)
        assert all(value.isfinite().all() for value in tensors.values())
    assert len(load_weights(tmp_path / "last.safetensors")[1]["history"]) == 1


@pytest.mark.thorough
def test_a_model_that_cannot_be_compiled(dataset, tmp_path, monkeypatch):
    import torch._inductor.config as inductor

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    with (
        inductor.patch({"cpp.cxx": (None, "/no/such/compiler"), "fx_graph_cache": False}),
        pytest.raises(ValueError, match=r"^the model cannot be compiled \(.*compiler.*needs a C\+\+ compiler.*longer$"),
    ):
        train(new_model(), dataset, RUN, progress=False, compiled=True)
