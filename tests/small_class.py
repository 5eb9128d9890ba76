"""A class with a small assignment: the submissions, and the points that each should get."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from conftest import ROOT

from vit_course.checks import EXERCISES
from vit_course.teaching.classroom.exercises import exercises_of

ASSIGNMENT = "04_small"
# Exercises with quick checks, and the chapters that they are from.
CHAPTERS = {
    "further.gradient": "14_several_processes",
    "further.share": "14_several_processes",
    "class_token.padded": "02_class_token",
    "attention.unnoticed": "04_attention",
}
GRADIENT, SHARE, PADDED, UNNOTICED = CHAPTERS
POINTS = {name: float(EXERCISES[name].points) for name in CHAPTERS}
ALL = sum(POINTS.values())


def exercise(name: str):
    """-> (its chapter, the places of its cells there)."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{CHAPTERS[name]}.ipynb", as_version=4)
    return notebook, next(one for one in exercises_of(notebook) if one.name == name)


SOLUTIONS = {name: exercise(name)[1].solution for name in CHAPTERS}
WRONG = {
    "gradient": "def whole_gradient(means, counts):\n    return means.mean(dim=0)",
    "share": "def shares(order, rank, world, batch_size):\n    return list(order.split(batch_size))",
    "padded": "def mean_of_real(z, real):\n    return z[:, 1:].mean(dim=1)",
    "unnoticed": "def unnoticed():\n    return {'keys_doubled': 1}",
}
HALF = (
    "def unnoticed():\n    words = ['key_constant', 'token_copied', 'traded']\n"
    "    return {**dict.fromkeys([*words, 'query_constant'], 'other'), 'value_constant': 'moved', 'keys_doubled': 9}"
)
MEAN = "return (z[:, 1:] * real[..., None]).sum(1) / real.sum(1, keepdim=True)"


def chapters(place: Path) -> Path:
    """A folder of chapters that holds the small one."""
    cells = [nbformat.v4.new_markdown_cell("# A small chapter"), nbformat.v4.new_code_cell("import torch")]
    for name in CHAPTERS:
        notebook, found = exercise(name)
        cells += [notebook.cells[i] for i in (found.text, found.stub, found.check)]
    (place / "notebooks").mkdir()
    (place / "res").symlink_to(ROOT / "res")
    nbformat.write(nbformat.v4.new_notebook(cells=cells), place / "notebooks" / f"{ASSIGNMENT}.ipynb")
    return place / "notebooks"


@dataclass
class Submission:
    """One learner's submission.

    Args:
        change: (notebook), changes the released notebook in place.
        lost: the points that are lost, by exercise; all else is right.
        state: of the mark: "graded" or "not graded".
        where: (the folder `submitted`, the student, the notebook's path), moves or changes the written files.
        says: parts of the report on it.
        daily: whether it is graded every day, and not only in the thorough tests.
    """

    change: Callable = lambda notebook: None
    lost: dict = field(default_factory=dict)
    state: str = "graded"
    where: Callable | None = None
    says: tuple[str, ...] = ()
    daily: bool = False

    @property
    def points(self) -> float:
        """The points that it should get, of ALL."""
        return ALL - sum(self.lost.values())

    def hand_in(self, submitted: Path, student: str, release: Path) -> None:
        """Writes the files."""
        place = submitted / student / ASSIGNMENT
        shutil.copytree(release, place)
        path = place / f"{ASSIGNMENT}.ipynb"
        notebook = nbformat.read(path, 4)
        self.change(notebook)
        path.write_text(json.dumps(notebook))  # whatever its form
        if self.where:
            self.where(submitted, student, path)


def cell_of(notebook, name: str, answer: bool = False):
    """The cell of an exercise's check, or of its answer."""
    return notebook.cells[place_of(notebook, name, answer)]


def place_of(notebook, name: str, answer: bool = False) -> int:
    """The index of the cell of an exercise's check, or of its answer."""
    ids = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
    return ids.index(name.replace(".", "-") + "-answer" * answer)


def solved(notebook, cell: str | None = None, **sources: str) -> None:
    """Fills in the solutions, or other sources by the exercises' short names; puts an extra cell before the first."""
    for name in CHAPTERS:
        cell_of(notebook, name, answer=True).source = sources.get(name.split(".")[1], SOLUTIONS[name])
    if cell:
        notebook.cells.insert(place_of(notebook, GRADIENT, answer=True), nbformat.v4.new_code_cell(cell))


def only(cell: str | None = None, **sources: str) -> Callable:
    """A `change` that fills in answers as `solved` does."""
    return lambda notebook: solved(notebook, cell, **sources)
