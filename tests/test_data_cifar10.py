"""CIFAR-10: what is there is read, and what is not there is said. The download itself is torchvision's."""

import hashlib
import pickle

import numpy as np
import pytest
import torch
from torchvision.datasets import CIFAR10

from vit_course import data


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder with files of CIFAR-10's layout and random pixels; nobody listens where more could be had."""
    folder = tmp_path / "here" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    rng = np.random.RandomState(0)

    def written(name, content):
        (folder / name).write_bytes(pickle.dumps(content))
        return hashlib.md5((folder / name).read_bytes()).hexdigest()

    def batch(name):
        labels = list(range(10)) * 2
        return [name, written(name, {"data": rng.randint(0, 256, (20, 3072), dtype=np.uint8), "labels": labels})]

    monkeypatch.setattr(CIFAR10, "train_list", [batch(f"data_batch_{i}") for i in range(1, 6)])
    monkeypatch.setattr(CIFAR10, "test_list", [batch("test_batch")])
    md5 = written("batches.meta", {"label_names": [f"class {i}" for i in range(10)]})
    monkeypatch.setattr(CIFAR10, "meta", {"filename": "batches.meta", "key": "label_names", "md5": md5})
    monkeypatch.setattr(CIFAR10, "url", "http://127.0.0.1:9/cifar-10-python.tar.gz")
    return folder.parent


def test_pixels_and_labels_stay_together(root):
    d = data.cifar10(root)
    assert (len(d.train), len(d.validation), len(d.test)) == (90, 10, 20)
    assert d.train.images.shape == (90, 3, 32, 32) and d.class_names[3] == "class 3"
    source = pickle.loads((root / "cifar-10-batches-py" / "test_batch").read_bytes())
    assert torch.equal(d.test.images, torch.from_numpy(source["data"]).reshape(20, 3, 32, 32))
    assert d.test.labels.tolist() == source["labels"]
    again = data.cifar10(root, download=False)
    assert torch.equal(again.train.images, d.train.images)


def test_without_files_or_with_damaged_ones_it_says_what_to_do(root, tmp_path):
    batch = root / "cifar-10-batches-py" / "data_batch_2"
    batch.write_bytes(batch.read_bytes()[:-1])
    for place, download in ((tmp_path / "nothing", True), (tmp_path / "nothing", False), (root, False)):
        with pytest.raises(ValueError, match=r"CIFAR-10 is not in .* call cifar10\(download=True\); without one, copy"):
            data.cifar10(place, download=download)


def test_the_source_of_cifar10(root, tmp_path, monkeypatch):
    made = data.cifar10(root, seed=3)
    assert made.source == {"source": "cifar10", "root": str(root), "seed": 3}
    assert torch.equal(data.from_recipe(made.source).train.images, made.train.images)
    monkeypatch.chdir(tmp_path)
    root.rename(tmp_path / "data")
    assert data.cifar10().source == {"source": "cifar10"}
