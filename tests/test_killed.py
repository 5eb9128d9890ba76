"""Files whole or not at all, and runs that go on: kills, full disks, damaged pictures, workers that die."""

import csv
import errno
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile

import pytest
import torch
from conftest import ROOT, python
from runs import RECIPE, cut_after, files, new_model, write_pictures
from torch import nn

from vit_course import data
from vit_course.__main__ import main
from vit_course._support.files import atomic
from vit_course._support.files.atomic import remove_leftovers, write_atomically, write_cells, write_csv, write_json
from vit_course._support.files.weights import load_weights
from vit_course.data import sets
from vit_course.training import TrainingConfig, evaluate, loop, run_folder, train
from vit_course.training.run_folder import FILES


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the children are forked, which this system cannot")
def test_a_kill_at_any_moment_changes_nothing(tmp_path):
    outcome = python(ROOT / "tests" / "kills.py", tmp_path, timeout=1800, OMP_NUM_THREADS="1")
    assert outcome.returncode == 0, outcome.stderr
    result = json.loads(outcome.stdout.splitlines()[-1])
    assert result["files"] == ["best.safetensors", "config.json", "last.safetensors", "log.csv"]
    # 4 epochs of at least 2 files, each with 4 moments; at some of them a part of a file is left behind.
    assert result["moments"] > 32 and result["leftovers"] > 8
    assert result["wrong"] == []


@pytest.mark.slow
def test_a_full_disk_is_named_and_the_run_goes_on_later(dataset, tmp_path, monkeypatch):
    history = train(new_model(), dataset, RECIPE, tmp_path / "whole", progress=False)
    calls, real = [], atomic.os.fsync

    def full(number):
        calls.append(number)
        if len(calls) == 5:  # best, last and log of epoch 1, best or last of epoch 2 ...
            raise OSError(28, "No space left on device")
        real(number)

    monkeypatch.setattr(atomic.os, "fsync", full)
    message = r"could not be written \(No space left on device\): \d+ bytes are needed, \d+ are"
    with pytest.raises(OSError, match=message):
        train(new_model(), dataset, RECIPE, tmp_path / "cut", progress=False)
    monkeypatch.undo()
    assert not [name for name in files(tmp_path / "cut") if name.startswith(".")]
    assert train(new_model(), dataset, RECIPE, tmp_path / "cut", resume=True, progress=False) == history
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"could not be written .* any earlier file is intact") as caught:
        write_atomically(tmp_path / "file" / "run" / "log.csv", b"x")
    assert "bytes" not in str(caught.value), "the disk is not full"


def test_only_our_own_dead_leftovers_are_removed(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    gone = [f".last.safetensors.{dead.pid}", f".log.csv.{os.getpid()}", ".best.safetensors.99999999999999999999"]
    gone += [f".config.json.{dead.pid}.0a1b2c3d"]
    stay = [f".last.safetensors.{os.getppid()}", f".bash_history.{dead.pid}", ".log.csv.old", "last.safetensors"]
    stay += [f".config.json.{os.getppid()}.0a1b2c3d", f".config.json.{dead.pid}.mine"]
    for name in gone + stay:
        (tmp_path / name).write_text("")
    (tmp_path / ".log.csv.123").mkdir()
    remove_leftovers(tmp_path, FILES)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*stay, ".log.csv.123"])


def test_a_new_file_appears_whole_in_one_step(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def power_cut(self, target):
        # The whole content is on the disk before the name changes.
        assert self.read_bytes() == b"new" and target == path
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.Path, "replace", power_cut)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_no_name_is_known_beforehand_and_no_link_followed(tmp_path, monkeypatch):
    opened, real = [], os.open
    monkeypatch.setattr(atomic.os, "open", lambda *given: opened.append(given) or real(*given))
    for _ in range(2):
        write_atomically(tmp_path / "file", b"x")
    (first, flags, _), (second, _, _) = opened
    assert first != second and first.parent == second.parent == tmp_path and flags & os.O_EXCL
    (tmp_path / "theirs").write_bytes(b"secret")
    monkeypatch.setattr(atomic.secrets, "token_hex", lambda _: "guessed")
    (tmp_path / f".link.{os.getpid()}.guessed").symlink_to("theirs")
    with pytest.raises(OSError, match=r"link could not be written \(File exists\)"):
        write_atomically(tmp_path / "link", b"x")
    monkeypatch.undo()
    (tmp_path / "link").symlink_to("theirs")
    write_atomically(tmp_path / "link", b"x")
    assert (tmp_path / "theirs").read_bytes() == b"secret" and not (tmp_path / "link").is_symlink()


@pytest.mark.skipif(os.name == "nt", reason="Windows knows files as read-only and nothing else")
def test_a_file_keeps_its_permissions_and_a_new_one_has_the_usual():
    code = """if True:
        import os, sys, pathlib
        from vit_course._support.files.atomic import write_atomically
        os.umask(0o027)
        for mode in (0o600, 0o664, None):
            path = pathlib.Path(sys.argv[1], str(mode))
            if mode is not None:
                path.touch()
                path.chmod(mode)
            write_atomically(path, b"new")
            print(oct(path.stat().st_mode & 0o777))
    """
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0o600", "0o664", "0o640"]


def test_csv(tmp_path):
    path = tmp_path / "new" / "log.csv"
    write_csv(path, [{"epoch": 1, "loss": 0.12345678}, {"loss": 2.0, "epoch": 2}])
    assert path.read_text() == "epoch,loss\n1,0.123457\n2,2.0\n"
    with pytest.raises(ValueError, match=r"log\.csv: there are 0 rows, but at least 1 is needed"):
        write_csv(path, [])
    for row in ({"epoch": 3}, {"epoch": 3, "loss": 1.0, "more": 1}):
        with pytest.raises(ValueError, match=r"log\.csv: row 1 has columns .*'epoch'.*, but those of row 0 are"):
            write_csv(path, [{"epoch": 2, "loss": 2.0}, row])
    assert path.read_text().startswith("epoch,loss\n1,"), "what was there is intact"


def test_no_cell_is_a_formula(tmp_path):
    path = tmp_path / "marks.csv"
    danger = ["=1+1", "+SUM(A1)", "-2+3", "@x", "\tx", "\rx", "\nx", "+49 170"]
    stay = ["-", "-3.5", "+1e5", "1.", "a=b", "", "'=x", "ada@example.org", -2.5, 7, None]
    write_cells(path, [danger, stay])
    with path.open(newline="") as file:
        first, second = csv.reader(file)
    assert first == [f"'{one}" for one in danger]
    assert second == ["" if one is None else str(one) for one in stay]
    assert path.read_bytes().endswith(b"\r\n")
    write_csv(path, [{"=a": "=b", "loss": -1.0}])
    assert path.read_text() == "'=a,loss\n'=b,-1.0\n"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), torch.zeros(2), {1}, {("a", 1): 2}, b"x"])
def test_what_json_cannot_hold(value, tmp_path):
    path = tmp_path / "result.json"
    write_json(path, {"accuracy": 0.5})
    with pytest.raises(ValueError, match=r"result\.json: these values cannot be written as JSON: "):
        write_json(path, {"accuracy": value})
    assert path.read_text() == '{\n  "accuracy": 0.5\n}\n' and len(list(tmp_path.iterdir())) == 1


def test_a_folder_is_not_written_over(tmp_path):
    (tmp_path / "log.csv").mkdir()
    for path in (tmp_path / "log.csv", tmp_path, "", "."):
        with pytest.raises(IsADirectoryError, match="is a folder, but the name of a file is needed"):
            write_atomically(path, b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]


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
    real = loop.measured

    def measured(*arguments, **options):
        result = real(*arguments, **options)
        pictures.rename(pictures.with_name("elsewhere"))
        return result

    monkeypatch.setattr(loop, "measured", measured)
    with pytest.raises(ValueError, match=r"not one of 20 images could be read in epoch 2/3, such as .*png: is their d"):
        history = train(new_model(num_classes=2), dataset, recipe, tmp_path / "run", progress=False)
    assert history is None
    assert len(load_weights(tmp_path / "run" / "last.safetensors")[1]["history"]) == 1
    with pytest.raises(ValueError, match=r"not one of 2 images could be read in the evaluation, such as "):
        evaluate(new_model(num_classes=2), dataset.test, dataset)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "number"),
    [(lambda: OSError(errno.EIO, "Input/output error"), errno.EIO), (MemoryError, errno.ENOMEM)],
    ids=["disk", "memory"],
)
@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.skipif("sys.platform != 'linux'"))])
def test_what_the_system_refuses_is_no_damaged_picture(workers, fault, number, pictures, monkeypatch):
    dataset = data.folder(pictures, image_size=(12, 8), on_disk=True)

    def refuses(*arguments, **options):
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


@pytest.mark.slow
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
