"""What the scripts of this folder share: they take a chapter's own code, run it with several seeds and store a table.

A script has one function for each experiment. It takes a seed and yields pairs: a setting, and the number that was
measured with it. The chapter reads the table with `data.stored_runs` and does one of the runs itself.
"""

import argparse
import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import nbformat
from IPython.core.interactiveshell import InteractiveShell

from vit_course._support.files.atomic import write_csv

ROOT = Path(__file__).parents[2]
TAG = "experiment"


class Shell(InteractiveShell):
    """Runs cells as a notebook does, without a window for figures."""

    def enable_gui(self, gui=None):
        pass


def defined_in(name: str) -> SimpleNamespace:
    """What a chapter defines, such as "05_encoder", by running its cells that have the tag "experiment", in order."""
    shell = Shell()
    for cell in nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells:
        if TAG in cell.metadata.get("tags", []):
            shell.run_cell(cell.source).raise_error()
    return SimpleNamespace(**shell.user_ns)


def write_table(script: str, *experiments: Callable[[int], Iterator[tuple[str, float]]]) -> None:
    """Runs the experiments with each seed and writes the table beside the script, whole after each run.

    Args:
        script: the path of the script; the table has its name, with the ending csv.
        experiments: their names stand in the table.
    """
    names = [one.__name__ for one in experiments]
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--seeds", type=int, default=5, help="how many runs of each experiment")
    parser.add_argument("--only", choices=names, help="run this experiment alone, and keep the others' rows")
    parser.add_argument("--out", type=Path, help="the table (default: beside the script)")
    options = parser.parse_args()
    path = options.out or Path(script).with_suffix(".csv")
    rows = list(csv.DictReader(path.open(encoding="utf-8"))) if options.only and path.exists() else []
    rows = [row for row in rows if row["experiment"] != options.only]
    for one in experiments:
        if options.only in (None, one.__name__):
            for seed in range(options.seeds):
                for setting, value in one(seed):
                    rows.append({"experiment": one.__name__, "setting": setting, "seed": seed, "value": f"{value:.6g}"})
                    print(*rows[-1].values(), flush=True)
                rows.sort(key=lambda row: names.index(row["experiment"]))  # stays in the order of the runs
                write_csv(path, rows)
