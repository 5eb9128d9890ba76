"""The tables of chapter 11 in res/without_labels, and how their labels are drawn and their classifiers chosen."""

import csv
import sys

import pytest
import torch
from conftest import ROOT

sys.path.insert(0, str(ROOT / "res" / "without_labels"))
import labels


def test_as_many_labels_of_each_class_are_drawn_and_by_the_seed_alone():
    of_classes = torch.arange(10).repeat(300)
    chosen = labels.drawn(of_classes, 500, seed=1)
    assert of_classes[chosen].bincount().tolist() == [50] * 10 and len(chosen.unique()) == 500
    assert torch.equal(chosen, labels.drawn(of_classes, 500, seed=1))
    assert not torch.equal(chosen, labels.drawn(of_classes, 500, seed=2))
    assert torch.equal(labels.drawn(of_classes, 3_000, seed=1), torch.arange(3_000))


def test_the_strength_is_chosen_on_validation_images_and_the_accuracy_is_of_the_test_images():
    torch.manual_seed(0)
    of_classes = torch.arange(10).repeat(40)
    clear = 3 * torch.eye(10)[of_classes]
    noisy = clear + 2 * torch.randn(400, 10)
    strength, accuracy = labels.probed((noisy, of_classes), (noisy, of_classes), (clear, of_classes), 100, 0)
    assert strength in labels.STRENGTHS and accuracy == 1.0
    wrong = (clear, (of_classes + 1) % 10)
    assert labels.probed((noisy, of_classes), (noisy, of_classes), wrong, 100, 0) == (strength, 0.0)


@pytest.mark.parametrize(
    ("table", "others"), [("probe", ["pixels", "random 0", "random 1", "random 2"]), ("finetune", ["scratch"])]
)
def test_the_tables_are_whole_and_what_was_learned_is_better_than_random_weights(table, others):
    lines = list(csv.DictReader((ROOT / "res" / "without_labels" / f"{table}.csv").open()))
    accuracy = {(line["start"], int(line["labels"]), int(line["seed"])): float(line["accuracy"]) for line in lines}
    drawn = [(count, seed) for count in labels.LABELS for seed in labels.SEEDS]
    if table == "probe":  # with all labels nothing is drawn
        drawn = [one for one in drawn if one[0] < labels.LABELS[-1] or one[1] == 0]
    wanted = {(start, *one) for start in [*others, *labels.MODELS] for one in drawn}
    assert len(lines) == len(accuracy) and accuracy.keys() == wanted
    for count in labels.LABELS:
        seeds = [seed for number, seed in drawn if number == count]
        trained = [accuracy[start, count, seed] for start in labels.MODELS for seed in seeds]
        assert min(trained) > max(accuracy[start, count, seed] for start in others for seed in seeds)
