"""Checkpoints and the log of a run, and what it goes on with."""

import csv
import json

import pytest
import torch
from runs import CONFIG, cut_after, new_model, same

from vit_course import data, pretrained
from vit_course.config import ViTConfig
from vit_course.files.weights import load_weights
from vit_course.training import TrainingConfig, evaluate, loop, train
from vit_course.vit import ViT

RECIPE = TrainingConfig(epochs=3, batch_size=32, padding=2, flip=True, label_smoothing=0.1)


@pytest.fixture(scope="module")
def dataset():
    return data.shapes(100, 40, 40, image_size=(12, 8))  # 100 is no multiple of 32: the last batch is short


def test_resume_is_exact(dataset, tmp_path, monkeypatch):
    whole = new_model()
    history = train(whole, dataset, RECIPE, tmp_path / "whole", progress=False)

    cut_after(2, monkeypatch, tmp_path / "cut", dataset, RECIPE)
    torch.manual_seed(99)  # another process would start anywhere
    resumed = new_model()
    assert train(resumed, dataset, RECIPE, tmp_path / "cut", resume=True, progress=False) == history
    assert same(whole, resumed)
    for name in ("last.safetensors", "best.safetensors", "log.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "cut" / name).read_bytes()


def test_best_and_last_checkpoint_and_log(dataset, tmp_path):
    model = new_model()
    history = train(model, dataset, RECIPE, tmp_path, progress=False)
    state, metadata = load_weights(tmp_path / "best.safetensors")
    assert ViTConfig(**metadata["config"]) == CONFIG
    best = ViT(CONFIG)
    best.load_state_dict(state)
    _, accuracy = evaluate(best, dataset.validation, dataset)
    assert accuracy == max(row["validation_accuracy"] for row in history)
    rows = list(csv.DictReader((tmp_path / "log.csv").read_text().splitlines()))
    assert [float(row["train_loss"]) for row in rows] == [round(row["train_loss"], 6) for row in history]
    names = ["best.safetensors", "config.json", "last.safetensors", "log.csv"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    kept = json.loads((tmp_path / "config.json").read_text())
    assert ViTConfig(**kept["model"]) == CONFIG and TrainingConfig(**kept["training"]) == RECIPE
    assert kept["images"] == {
        "class_names": list(data.SHAPES), "mean": list(dataset.mean), "std": list(dataset.std)
    }  # fmt: skip
    run = pretrained.load_run(str(tmp_path))
    assert same(run.model, best) and run.class_names == list(data.SHAPES)


def test_best_is_the_epoch_of_the_highest_validation_accuracy(dataset, tmp_path, monkeypatch):
    accuracies, weights = [0.5, 0.9, 0.4], []

    def scripted(model, *arguments, **options):
        weights.append({key: value.clone() for key, value in model.state_dict().items()})
        return 1.0, accuracies[len(weights) - 1]

    monkeypatch.setattr(loop, "evaluate", scripted)
    train(new_model(), dataset, RECIPE, tmp_path, progress=False)
    state, _ = load_weights(tmp_path / "best.safetensors")
    assert all(torch.equal(state[key], value) for key, value in weights[1].items())
    assert not all(torch.equal(state[key], value) for key, value in weights[2].items())


def test_what_is_validated_and_kept_is_the_running_average(dataset, tmp_path, monkeypatch):
    recipe = TrainingConfig(epochs=2, batch_size=50, average=0.75)
    model, seen, validated = new_model(), [], []
    model.register_forward_pre_hook(lambda m, _: seen.append(m.head.bias.detach().clone()) if m.training else None)

    def scripted(kept, *arguments, **options):
        validated.append(kept.head.bias.detach().clone())
        return 1.0, [0.5, 0.9][len(validated) - 1]

    monkeypatch.setattr(loop, "evaluate", scripted)
    train(model, dataset, recipe, tmp_path, progress=False)
    last, _ = load_weights(tmp_path / "last.safetensors")
    steps = [*seen[1:], last["model.head.bias"]]  # the bias after each of the four steps
    assert len(steps) == 4
    average = steps[0]
    for step in steps[1:]:
        average = 0.75 * average + 0.25 * step
    torch.testing.assert_close(last["average.module.head.bias"], average)
    torch.testing.assert_close(validated[-1], average)
    assert not torch.allclose(average, steps[-1], atol=1e-6)
    # The second epoch is the best by the script, and what the caller holds is what was validated last.
    best, _ = load_weights(tmp_path / "best.safetensors")
    assert torch.equal(best["head.bias"], last["average.module.head.bias"])
    assert torch.equal(model.head.bias, last["average.module.head.bias"])
    resumed = new_model()
    train(resumed, dataset, recipe, tmp_path, resume=True, progress=False)
    assert same(model, resumed)
