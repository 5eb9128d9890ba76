import hashlib
import pickle
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import torch
from torchvision.datasets import CIFAR10

from vit_course import data


@pytest.fixture
def stand_in_cifar(tmp_path, monkeypatch):
    """A server on this machine with an archive of CIFAR-10's layout and random pixels; -> its folder."""
    folder = tmp_path / "source" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    rng = np.random.RandomState(0)
    lists = {"train_list": [f"data_batch_{i}" for i in range(1, 6)], "test_list": ["test_batch"]}
    for attribute, names in lists.items():
        entries = []
        for name in names:
            batch = {"data": rng.randint(0, 256, (20, 3072), dtype=np.uint8), "labels": list(range(10)) * 2}
            (folder / name).write_bytes(pickle.dumps(batch))
            entries.append([name, hashlib.md5((folder / name).read_bytes()).hexdigest()])
        monkeypatch.setattr(CIFAR10, attribute, entries)
    words = [f"class {i}" for i in range(10)]
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": words}))
    meta_md5 = hashlib.md5((folder / "batches.meta").read_bytes()).hexdigest()
    monkeypatch.setattr(CIFAR10, "meta", {"filename": "batches.meta", "key": "label_names", "md5": meta_md5})
    archive = tmp_path / "source" / "cifar-10-python.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, "cifar-10-batches-py")
    monkeypatch.setattr(CIFAR10, "tgz_md5", hashlib.md5(archive.read_bytes()).hexdigest())

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=archive.parent))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(CIFAR10, "url", f"http://127.0.0.1:{server.server_port}/cifar-10-python.tar.gz")
    yield folder
    server.shutdown()
    server.server_close()


def test_cifar10_downloads_once_and_keeps_pixels_and_labels_together(stand_in_cifar, tmp_path):
    d = data.cifar10(tmp_path / "here")
    assert (len(d.train), len(d.validation), len(d.test)) == (90, 10, 20)
    assert d.train.images.shape == (90, 3, 32, 32) and d.class_names[3] == "class 3"
    source = pickle.loads((stand_in_cifar / "test_batch").read_bytes())
    assert torch.equal(d.test.images, torch.from_numpy(source["data"]).reshape(20, 3, 32, 32))
    assert d.test.labels.tolist() == source["labels"]
    again = data.cifar10(tmp_path / "here", download=False)
    assert torch.equal(again.train.images, d.train.images)


def test_cifar10_without_network_says_what_to_do(stand_in_cifar, tmp_path, monkeypatch):
    monkeypatch.setattr(CIFAR10, "url", "http://127.0.0.1:9/cifar-10-python.tar.gz")  # nobody listens there
    for download in (True, False):
        with pytest.raises(ValueError, match=r"CIFAR-10 is not in .* call cifar10\(download=True\); without one, copy"):
            data.cifar10(tmp_path / "nothing", download=download)


def test_cifar10_with_damaged_files(stand_in_cifar, tmp_path):
    data.cifar10(tmp_path / "here")
    batch = tmp_path / "here" / "cifar-10-batches-py" / "data_batch_2"
    batch.write_bytes(batch.read_bytes()[:-1])
    with pytest.raises(ValueError, match="CIFAR-10 is not in"):
        data.cifar10(tmp_path / "here", download=False)


def test_the_source_of_cifar10(stand_in_cifar, tmp_path, monkeypatch):
    made = data.cifar10(tmp_path / "here", seed=3)
    assert made.source == {"source": "cifar10", "root": str(tmp_path / "here"), "seed": 3}
    assert torch.equal(data.from_recipe(made.source).train.images, made.train.images)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").rename(tmp_path / "data")
    assert data.cifar10().source == {"source": "cifar10"}
