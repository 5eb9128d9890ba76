"""The tables of res/experiments: whole, named by their chapters, and what their scripts measure again."""

import csv
import re
from collections import defaultdict

import nbformat
import pytest
from conftest import ROOT, python, thoroughly

from vit_course import data

FOLDER = ROOT / "res" / "experiments"
TABLES = sorted(path.stem for path in FOLDER.glob("*.csv"))


def rows(path) -> dict[str, dict[str, list[float]]]:
    """{experiment: {setting: values}}; the seeds of each setting are 0, 1, ..."""
    found = defaultdict(lambda: defaultdict(list))
    for row in csv.DictReader(path.open(encoding="utf-8")):
        values = found[row["experiment"]][row["setting"]]
        assert int(row["seed"]) == len(values), row
        values.append(float(row["value"]))
    return found


EXPERIMENTS = [(name, one) for name in TABLES for one in rows(FOLDER / f"{name}.csv")]
DAILY = ("class_token", "by_token")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_what_its_script_measures_and_its_chapter_names_the_command(name):
    script = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    (experiments,) = re.findall(r"write_table\(\s*__file__,(.*?)\)", script, re.DOTALL)
    assert list(rows(FOLDER / f"{name}.csv")) == re.findall(r"\w+", experiments)
    (chapter,) = re.findall(r'defined_in\("(\w+)"\)', script)
    cells = nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4).cells
    text = "\n".join(cell.source for cell in cells)
    assert f"python res/experiments/{name}.py" in text and f"python res/experiments/{name}.py" in script
    assert f'stored_runs("{name}", ' in text or f'stored_runs(\n    "{name}", ' in text
    assert any("experiment" in cell.metadata.get("tags", []) for cell in cells)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "experiment"), [DAILY, *thoroughly(*(one for one in EXPERIMENTS if one != DAILY))])
def test_a_script_measures_its_table_again(name, experiment, tmp_path):
    """Runs seed 0 of an experiment: near the stored number, as far as the seeds differ."""
    out = tmp_path / f"{name}-{experiment}.csv"
    done = python(FOLDER / f"{name}.py", "--seeds", 1, "--only", experiment, "--out", out)
    assert done.returncode == 0, done.stderr
    (measured,) = rows(out).values()
    stored = data.stored_runs(name, experiment)
    assert measured.keys() == stored.keys()
    for setting, (value,) in measured.items():
        allowed = max(stored[setting]) - min(stored[setting]) + 0.1 * abs(stored[setting][0]) + 0.01
        assert abs(value - stored[setting][0]) <= allowed, (setting, value, stored[setting])


def test_a_table_or_an_experiment_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"no file 'experiments/nothing\.csv'"):
        data.stored_runs("nothing", "accuracy")
    with pytest.raises(ValueError, match=r"the table 'class_token' has the experiments accuracy, .*, not 'speed'"):
        data.stored_runs("class_token", "speed")
    assert list(data.stored_runs("class_token", "accuracy")) == ["class token", "mean", "blank patch"]
