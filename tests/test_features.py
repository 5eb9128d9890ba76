"""What a model without a head has learned: its features, and the class of the nearest."""

from pathlib import Path

import numpy as np
import pytest
import torch
from runs import new_model, write_pictures
from torch import nn

from vit_course import data
from vit_course.training.features import features, knn_accuracy, nearest_neighbours

CUTS = [{}, {"pool": "mean"}, {"num_registers": 2}, {"pool": "mean", "num_registers": 2}]


@pytest.mark.parametrize("changes", CUTS)
@torch.no_grad()
def test_features_are_the_class_token_and_the_mean_of_the_patches(changes, dataset):
    model = new_model(**changes).train()
    found, labels = features(model, dataset.test, dataset, batch_size=7)
    assert model.training and torch.equal(labels, dataset.test.labels)
    model.eval()
    for image, row in zip(dataset.test.images, found, strict=True):
        tokens = model.features(dataset.normalise(image[None]))[0]
        mean = sum(tokens[-6:]) / 6
        wanted = torch.cat([tokens[0], mean]) if model.config.pool == "cls" else mean
        torch.testing.assert_close(row, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("count", [300, 7])
def test_the_nearest_neighbours_vote(count):
    known, labels, asked = torch.randn(count, 5), torch.randint(4, (count,)), torch.randn(1003, 5)
    unit = known.double().numpy() / known.double().norm(dim=1, keepdim=True).numpy()
    wanted = []
    for one in asked.double().numpy():
        cosines, votes = unit @ one / np.linalg.norm(one), np.zeros(4)
        for place in np.argsort(-cosines)[:20]:
            votes[labels[place]] += np.exp(cosines[place] / 0.07)
        wanted.append(votes.argmax())
    assert nearest_neighbours(known, labels, asked, 4).tolist() == wanted


def test_the_accuracy_of_the_neighbours_on_the_test_images(dataset):
    model = new_model()
    (known, labels), (asked, wanted) = (features(model, part, dataset) for part in (dataset.train, dataset.test))
    right = nearest_neighbours(known, labels, asked, 5) == wanted
    assert 0 < knn_accuracy(model, dataset, batch_size=33) == right.sum().item() / 40 < 1


def test_what_has_no_features(dataset, tmp_path):
    with pytest.raises(TypeError, match="model must be a ViT, got Linear"):
        features(nn.Linear(3, 3), dataset.test, dataset)
    with pytest.raises(TypeError, match="dataset must be a Dataset, got ImageSet"):
        features(new_model(), dataset.test, dataset.test)
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        knn_accuracy(new_model(), dataset, 0)
    model = new_model(image_size=8).train()
    with pytest.raises(ValueError, match=r"the model takes images \(B, 3, 8, 8\), got shape"):
        features(model, dataset.test, dataset)
    assert model.training
    files = data.folder(write_pictures(tmp_path), image_size=(12, 8), on_disk=True)
    for path in files.train.paths:
        Path(path).write_bytes(b"")
    with pytest.raises(ValueError, match=r"not one of \d+ images could be read in the search for features, such as"):
        features(new_model(), files.train, files)
