"""RandAugment and mixup in a training: torchvision's own, each image by a random number of its own."""

import inspect
import json
from dataclasses import asdict, replace

import pytest
import torch
from runs import RECIPE, cut_after, files, new_model, rewritten
from test_distributed import TORCHRUN, TRAIN, assert_the_same_run, run
from test_training import Spy
from torch import nn
from torchvision.transforms import v2

from vit_course import data
from vit_course.__main__ import main
from vit_course.training import TrainingConfig, train
from vit_course.training.augmentation import mix_up, rand_augment
from vit_course.training.batches import Batches
from vit_course.training.masked import MaskedAutoencoder
from vit_course.training.processes import Alone
from vit_course.training.supervised import Supervised

BOTH = {"randaugment": 9, "mixup": 0.5}


def first_part(dataset, **changes):
    """-> the first part of the first epoch, and the generator of the draws after it"""
    batches = Batches(dataset, TrainingConfig(batch_size=32, **changes), Supervised(nn.Linear(1, 1), dataset),
                      Alone(torch.device("cpu")), accumulate=1, workers=0)  # fmt: skip
    return next(next(batches.epoch())), batches.generator


@pytest.mark.parametrize("channels", [1, 3])
def test_randaugment_is_torchvision_s_by_each_image_s_seed(channels):
    images = torch.randint(0, 256, (20, channels, 12, 8), dtype=torch.uint8)
    seeds, before = torch.randint(2**63 - 1, (20,)), torch.get_rng_state()
    changed = rand_augment(images, seeds, 12)
    assert torch.equal(torch.get_rng_state(), before), "dropout draws from it"
    assert torch.equal(rand_augment(images[7:9], seeds[7:9], 12), changed[7:9])  # whichever others there are
    for image, seed, found in zip(images, seeds, changed, strict=True):
        torch.manual_seed(seed.item())
        assert torch.equal(found, v2.RandAugment(num_ops=2, magnitude=12)(image))
    assert not torch.equal(changed, images)


def test_mixup_by_its_formula(dataset):
    plain, _ = first_part(dataset)
    part, _ = first_part(dataset, mixup=0.5)
    before = plain.labels.roll(1)
    at = (plain.labels != before).nonzero()[0, 0]  # where the labels differ, the share can be read
    share = part.labels[at, plain.labels[at]].item()
    assert 0 < share < 1
    mixed = share * plain.images + (1 - share) * plain.images.roll(1, dims=0)
    torch.testing.assert_close(part.images, mixed)
    objective = Supervised(nn.Sequential(nn.Flatten(), nn.Linear(288, 7)), dataset, label_smoothing=0.1)
    logits = objective.model(part.images)  # of 5 classes and two that no image has
    one, other = (nn.functional.cross_entropy(logits, labels, label_smoothing=0.1)
                  for labels in (plain.labels, before))  # fmt: skip
    loss, measures = objective(part.images, part.labels, part.draws, 32)
    torch.testing.assert_close(loss, share * one + (1 - share) * other)
    larger = plain.labels if share > 0.5 else before
    assert torch.equal(measures["accuracy"], (logits.argmax(dim=1) == larger).double())


def test_the_share_of_a_mixture_is_beta_s(dataset):
    images, labels = torch.rand(2, 3, 4, 4), torch.tensor([0, 1])
    draws = torch.stack([mix_up(images, labels, torch.tensor(seed), 2, 2)[1][0, 0] for seed in range(1000)])
    assert draws.mean().item() == pytest.approx(0.5, abs=0.03)
    assert draws.var().item() == pytest.approx(1 / 20, abs=0.01)  # 1 / (4 (2 alpha + 1))


def test_without_them_not_one_random_number_changes(dataset, monkeypatch):
    for name in ("rand_augment", "mix_up"):
        monkeypatch.setattr(f"vit_course.training.batches.{name}", lambda *_: pytest.fail("asked for"))
    part, generator = first_part(dataset, padding=2, flip=True, cutout=3)
    by_hand = torch.Generator().manual_seed(0)
    order = torch.randperm(100, generator=by_hand)[:32]
    shifts = data.random_shifts(32, 2, True, by_hand)
    images = dataset.normalise(data.shift_images(dataset.train.images[order], shifts, 2))
    assert torch.equal(part.images, data.cut_out(images, data.random_places(32, (12, 8), by_hand), 3))
    assert torch.equal(generator.get_state(), by_hand.get_state())


def test_the_draws_are_the_run_s_and_the_other_augmentations_stay(dataset):
    cut, _ = first_part(dataset, cutout=3)
    both, again = (first_part(dataset, cutout=3, **BOTH)[0] for _ in range(2))
    assert torch.equal(both.images, again.images) and torch.equal(both.labels, again.labels), "drawn from `generator`"
    changed, _ = first_part(dataset, cutout=3, randaugment=9)
    assert torch.equal((cut.images == 0).all(dim=1), (changed.images == 0).all(dim=1))
    assert not torch.equal(cut.images, changed.images)


def test_validation_images_are_neither_changed_nor_mixed(dataset):
    model = Spy()
    train(model, dataset, TrainingConfig(epochs=1, batch_size=32, **BOTH), progress=False)
    (validation,) = [images for training, images in model.seen if not training]
    assert torch.equal(validation, dataset.normalise(dataset.validation.images))


@pytest.mark.slow
def test_a_run_that_was_cut_is_the_whole_one(dataset, tmp_path, monkeypatch):
    recipe = replace(RECIPE, cutout=3, **BOTH)
    train(new_model(), dataset, recipe, tmp_path / "whole", progress=False)  # with dropout
    cut_after(1, monkeypatch, tmp_path / "cut", dataset, recipe)
    train(new_model(), dataset, recipe, tmp_path / "cut", resume=True, progress=False)
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


@pytest.mark.thorough
def test_two_processes_change_each_image_as_one_does(tmp_path, float64):
    # The last batch of 17 goes into three parts of uneven shares.
    command = [*TRAIN, "--num-train", "145", "--epochs", "2", "--randaugment", "20"]
    assert main([*command, "--out", str(tmp_path / "alone")]) == 0
    code, _, errors = run(*TORCHRUN, "-m", "vit_course", *command, "--accumulate=3", "--out", "run", cwd=tmp_path)
    assert code == 0, errors
    assert_the_same_run(tmp_path / "run", tmp_path / "alone")


@pytest.mark.slow
def test_a_run_of_before_these_fields_goes_on(dataset, tmp_path, monkeypatch):
    cut_after(1, monkeypatch, tmp_path, dataset, RECIPE)
    path = tmp_path / "config.json"
    kept = json.loads(path.read_text())
    kept["training"] = {key: value for key, value in kept["training"].items() if key not in BOTH}
    path.write_text(json.dumps(kept))
    rewritten(tmp_path / "last.safetensors", lambda t, m: (t, m | {"recipe": kept["training"]}))
    with pytest.raises(ValueError, match=r"whose recipe has mixup 0\.0, but this run's has 0\.5"):
        train(new_model(), dataset, replace(RECIPE, mixup=0.5), tmp_path, resume=True, progress=False)
    resumed = train(new_model(), dataset, RECIPE, tmp_path, resume=True, progress=False)
    assert resumed == train(new_model(), dataset, RECIPE, progress=False)


def test_what_does_not_fit(dataset):
    config = TrainingConfig(epochs=1, **BOTH)
    with pytest.raises(ValueError, match=r"mixup mixes labels, .* masked uses none: leave mixup at 0, got 0\.5"):
        train(MaskedAutoencoder(new_model()), dataset, config, progress=False)
    with pytest.raises(ValueError, match=r"smooths labels, .* masked uses none: leave label_smoothing at 0, got 0\.1"):
        train(MaskedAutoencoder(new_model()), dataset, TrainingConfig(label_smoothing=0.1), progress=False)
    parts = {name: data.ImageSet(getattr(dataset, name).images[:, :2], getattr(dataset, name).labels)
             for name in ("train", "validation", "test")}  # fmt: skip
    two = replace(dataset, **parts, mean=(0.5,) * 2, std=(0.5,) * 2)
    with pytest.raises(ValueError, match="randaugment takes images of 1 or 3 channels, but shapes has 2"):
        train(new_model(in_channels=2), two, config, progress=False)


def test_what_no_recipe_can_have():
    for name, value, message in (
        ("randaugment", 31, "at most 30, got 31"),
        ("randaugment", 9.0, r"an int of at least 0, got 9\.0"),
        ("mixup", -0.1, r"at least 0, got -0\.1"),
        ("mixup", 0.05, r"0 or at least 0\.1, got 0\.05"),
        ("mixup", 101, "at most 100, got 101"),
        ("mixup", True, "a number, got True"),
    ):
        with pytest.raises(ValueError, match=f"^{name} must be {message}"):
            TrainingConfig(**{name: value})
    assert asdict(TrainingConfig(mixup=1, randaugment=30)).items() >= {"mixup": 1, "randaugment": 30}.items()


def test_the_default_number_of_operations_is_the_one_that_is_documented():
    assert inspect.signature(v2.RandAugment).parameters["num_ops"].default == 2
    assert len(v2.RandAugment._AUGMENTATION_SPACE) == 14
