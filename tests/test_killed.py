"""Files written whole or not at all: kills at any moment, full disks, what cannot be written; what was there stays."""

import csv
import json
import os
import subprocess
import sys
import tempfile

import pytest
import torch
from conftest import ROOT, cases
from runs import RECIPE, files, new_model

from vit_course import data
from vit_course.files import atomic
from vit_course.files.atomic import remove_leftovers, write_atomically, write_cells, write_csv, write_json
from vit_course.training import train
from vit_course.training.run_folder import FILES


@pytest.fixture(scope="module")
def dataset():
    return data.shapes(100, 40, 40, image_size=(12, 8))


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the children are forked, which this system cannot")
def test_a_kill_at_any_moment_changes_nothing(tmp_path):
    command = [sys.executable, ROOT / "tests" / "kills.py", tmp_path]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    outcome = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert outcome.returncode == 0, outcome.stderr
    result = json.loads(outcome.stdout.splitlines()[-1])
    assert result["files"] == ["best.safetensors", "config.json", "last.safetensors", "log.csv"]
    # 4 epochs of at least 2 files, each with 4 moments; at some of them a part of a file is left behind.
    assert result["moments"] > 32 and result["leftovers"] > 8
    assert result["wrong"] == []


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
    with pytest.raises(OSError, match=r"could not be written .* what was there before is intact") as caught:
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
        from vit_course.files.atomic import write_atomically
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
    with pytest.raises(ValueError, match=r"log\.csv: there are 0 rows, at least 1 is needed"):
        write_csv(path, [])
    for row in ({"epoch": 3}, {"epoch": 3, "loss": 1.0, "more": 1}):
        with pytest.raises(ValueError, match=r"log\.csv: row 1 has the columns .*'epoch'.*, those of row 0 are needed"):
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


@cases("value", [float("nan"), float("inf"), torch.zeros(2), {1}, {("a", 1): 2}, b"x"])
def test_what_json_cannot_hold(value, tmp_path):
    path = tmp_path / "result.json"
    write_json(path, {"accuracy": 0.5})
    with pytest.raises(ValueError, match=r"result\.json: these values cannot be written as JSON: "):
        write_json(path, {"accuracy": value})
    assert path.read_text() == '{\n  "accuracy": 0.5\n}\n' and len(list(tmp_path.iterdir())) == 1


def test_a_folder_is_not_written_over(tmp_path):
    (tmp_path / "log.csv").mkdir()
    for path in (tmp_path / "log.csv", tmp_path, "", "."):
        with pytest.raises(IsADirectoryError, match="is a folder, the name of a file is needed"):
            write_atomically(path, b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]
