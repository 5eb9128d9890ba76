"""Files written whole or not at all: what cannot be written is said, and what was there stays."""

import pytest
import torch
from conftest import cases

from vit_course.files.atomic import write_atomically, write_csv, write_json


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
