"""Damaged pictures, vanished disks and dying workers, in the middle of a run."""

import errno
import json
import multiprocessing
import os
import sys

import pytest
import torch
from runs import cut_after, files, new_model, write_pictures
from torch import nn

from vit_course import data
from vit_course.__main__ import main
from vit_course.data import sets
from vit_course.files.weights import load_weights
from vit_course.training import TrainingConfig, loop, run_folder, train


@pytest.fixture
def pictures(tmp_path):
    return write_pictures(tmp_path / "pictures")


@pytest.mark.skipif(sys.platform != "linux", reason="the fault is planted in a worker that is forked")
def test_a_worker_that_dies(pictures, tmp_path, monkeypatch):
    dataset = data.folder(pictures, image_size=(12, 8), on_disk=True)
    model = new_model(num_classes=2)
    recipe = TrainingConfig(epochs=2, batch_size=8)
    cut_after(1, monkeypatch, tmp_path / "run", dataset, recipe, num_classes=2)
    before = files(tmp_path / "run")
    monkeypatch.setattr(sets, "open_image", lambda *arguments: os._exit(1))
    with pytest.raises(ValueError, match=r"one of 1 workers that read images died.*try fewer"):
        train(model, dataset, recipe, tmp_path / "run", resume=True, progress=False, workers=1)
    assert files(tmp_path / "run") == before


def test_nothing_but_damaged_pictures(pictures):
    for path in pictures.rglob("*.png"):
        path.write_bytes(b"")
    with pytest.raises(ValueError, match="none of the first 20 training images of pictures can be read"):
        data.folder(pictures, on_disk=True)


def test_pictures_that_vanish_end_the_run(pictures, tmp_path, monkeypatch):
    dataset = data.folder(pictures, image_size=(12, 8), on_disk=True)
    recipe, history = TrainingConfig(epochs=3, batch_size=8), None
    real = loop.evaluate

    def evaluate(*arguments, **options):
        result = real(*arguments, **options)
        pictures.rename(pictures.with_name("elsewhere"))
        return result

    monkeypatch.setattr(loop, "evaluate", evaluate)
    with pytest.raises(ValueError, match=r"not one of 20 images could be read in epoch 2/3, such as .*png: is their d"):
        history = train(new_model(num_classes=2), dataset, recipe, tmp_path / "run", progress=False)
    assert history is None
    assert len(load_weights(tmp_path / "run" / "last.safetensors")[1]["history"]) == 1
    with pytest.raises(ValueError, match=r"not one of 2 images could be read in the evaluation, such as "):
        real(new_model(num_classes=2), dataset.test, dataset)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "number"),
    [(lambda: OSError(errno.EIO, "Input/output error"), errno.EIO), (MemoryError, errno.ENOMEM)],
    ids=["disk", "memory"],
)
@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.skipif("sys.platform != 'linux'"))])
def test_what_the_system_refuses_is_no_damaged_picture(workers, fault, number, pictures, monkeypatch):
    dataset = data.folder(pictures, image_size=(12, 8), on_disk=True)

    def refuses(*arguments):
        raise fault()

    monkeypatch.setattr("PIL.Image.open", refuses)
    model, recipe = new_model(num_classes=2), TrainingConfig(epochs=1, batch_size=8)
    with pytest.raises(OSError, match=rf"{os.strerror(number)}: '.*\.png'$") as caught:
        train(model, dataset, recipe, progress=False, workers=workers)
    assert (caught.value.errno == number or workers) and "\n" not in str(caught.value)
    assert data.unreadable(dataset) == []
    assert multiprocessing.active_children() == []  # though `caught` still holds the frames


@pytest.mark.parametrize("accumulate", [1, 3])
def test_a_batch_with_damaged_pictures_is_the_mean_over_the_others(accumulate, pictures, tmp_path, monkeypatch):
    dataset = data.folder(pictures, image_size=(12, 8), on_disk=True)
    whole = dataset.train[:]
    for i in (1, 2, 11):
        (tmp_path / dataset.train.paths[i]).write_bytes(b"")
    kept = torch.tensor([i for i in range(20) if i not in (1, 2, 11)])
    model, gradients = new_model(num_classes=2, dropout=0.0), []
    recipe = TrainingConfig(epochs=1, batch_size=20, clip_norm=0.0)
    monkeypatch.setattr(
        torch.optim.AdamW, "step", lambda *_: gradients.extend(p.grad.clone() for p in model.parameters())
    )
    (row,) = train(model, dataset, recipe, progress=False, accumulate=accumulate)
    model.zero_grad()
    loss = nn.functional.cross_entropy(model(dataset.normalise(whole.images[kept])), whole.labels[kept])
    loss.backward()
    assert row["train_loss"] == pytest.approx(loss.item(), abs=1e-6)
    for ours, p in zip(gradients, model.parameters(), strict=True):
        torch.testing.assert_close(ours, p.grad, rtol=1e-4, atol=1e-7)


def test_unreadable_files_are_listed_with_every_checkpoint(pictures, tmp_path, monkeypatch, capsys):
    dataset = data.folder(pictures, image_size=8, on_disk=True)
    early, late = sorted(str(dataset.train.paths[i]) for i in (3, 8))
    command = "train --on-disk --image-size 8 --patch-size 4 --hidden-dim 8 --num-layers 1 --num-heads 1 --mlp-dim 8"
    arguments = [*command.split(), "--epochs=2", "--batch-size=5", "--workers=1"]
    arguments += ["--data", str(pictures), "--out", str(tmp_path / "o")]
    good = {name: (tmp_path / name).read_bytes() for name in (early, late)}
    (tmp_path / early).write_bytes(b"")
    real = run_folder.write_csv

    def power_cut(*of_the_log):
        real(*of_the_log)
        raise KeyboardInterrupt

    monkeypatch.setattr(run_folder, "write_csv", power_cut)
    assert main(arguments) == 130
    monkeypatch.setattr(run_folder, "write_csv", real)
    listed = tmp_path / "o" / "unreadable.txt"
    assert listed.read_text().split() == [early]
    (tmp_path / early).write_bytes(good[early])
    (tmp_path / late).write_bytes(b"")
    assert main([*arguments, "--resume"]) == 0
    assert listed.read_text().split() == [early, late]
    (tmp_path / late).write_bytes(good[late])
    capsys.readouterr()
    assert main([*arguments, "--resume"]) == 0  # a run that has come to its end
    assert listed.read_text().split() == [early, late]
    assert "2 files could not be read and were left out, such as" in capsys.readouterr().out
    result = json.loads((tmp_path / "o" / "result.json").read_text())
    assert 0 <= result["test_accuracy"] <= 1 and "linear_test_accuracy" not in result
    (tmp_path / "o" / "last.safetensors").unlink()
    train(new_model(image_size=8, num_classes=2), dataset, TrainingConfig(epochs=1), tmp_path / "o", progress=False)
    assert not listed.exists(), "another run, without faults, in the same folder"
