"""A class of some forty on a small assignment: what each hands in, and what it is worth."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from conftest import ROOT

from vit_course import classroom
from vit_course.checks import EXERCISES

ASSIGNMENT = "04_small"
# Exercises that are judged in a moment, and from which chapters they are.
CHAPTERS = {
    "further.gradient": "11_further",
    "further.share": "11_further",
    "class_token.padded": "02_class_token",
    "attention.unnoticed": "04_attention",
}
GRADIENT, SHARE, PADDED, UNNOTICED = CHAPTERS
POINTS = {name: float(EXERCISES[name].points) for name in CHAPTERS}
ALL = sum(POINTS.values())
SOLUTIONS: dict[str, str] = {}


def chapters(place: Path) -> Path:
    """A folder of chapters that holds the small one; fills SOLUTIONS."""
    cells = [nbformat.v4.new_markdown_cell("# A small chapter"), nbformat.v4.new_code_cell("import torch")]
    for name, chapter in CHAPTERS.items():
        notebook = classroom.load(ROOT / "notebooks" / f"{chapter}.ipynb")
        exercise = next(one for one in classroom.exercises_of(notebook) if one.name == name)
        SOLUTIONS[name] = exercise.solution
        cells += [notebook.cells[i] for i in (exercise.text, exercise.stub, exercise.check)]
    (place / "notebooks").mkdir()
    (place / "res").symlink_to(ROOT / "res")
    nbformat.write(nbformat.v4.new_notebook(cells=cells), place / "notebooks" / f"{ASSIGNMENT}.ipynb")
    return place / "notebooks"


@dataclass
class Submission:
    """What somebody hands in.

    Args:
        change: (notebook) -> what is done to the release.
        lost: points that are not got, by exercise; the rest is right.
        state: of the mark: "graded" or "not graded".
        where: (the folder `submitted`, the student, the notebook) -> writes it; by default where it belongs.
        files: name: text, beside the notebook.
        says: what the report must say of it.
    """

    change: Callable = lambda notebook: None
    lost: dict = field(default_factory=dict)
    state: str = "graded"
    where: Callable | None = None
    files: dict = field(default_factory=dict)
    says: tuple[str, ...] = ()

    @property
    def points(self) -> float:
        """Of ALL."""
        return ALL - sum(self.lost.values())

    def hand_in(self, submitted: Path, student: str, release: Path) -> None:
        """Writes the files."""
        place = submitted / student / ASSIGNMENT
        shutil.copytree(release, place)
        notebook = nbformat.read(place / f"{ASSIGNMENT}.ipynb", 4)
        self.change(notebook)
        for name, text in self.files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        (place / f"{ASSIGNMENT}.ipynb").write_text(json.dumps(notebook))  # whatever its form
        if self.where:
            self.where(submitted, student, place / f"{ASSIGNMENT}.ipynb")


def cell_id(name: str, answer: bool = False) -> str:
    """nbgrader's name of an exercise's cell."""
    return name.replace(".", "-") + ("-answer" if answer else "")


def place_of(notebook, name: str, answer: bool = False) -> int:
    """The index of an exercise's cell."""
    ids = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
    return ids.index(cell_id(name, answer))


def solved(notebook, **sources: str) -> None:
    """Fills in the solutions, or by the exercise's last name something else; None leaves the stub."""
    for name in CHAPTERS:
        source = sources.get(name.split(".")[1], SOLUTIONS[name])
        if source is not None:
            notebook.cells[place_of(notebook, name, answer=True)].source = source


def with_cell(source: str, before: str = GRADIENT, **sources: str) -> Callable:
    """-> a change: solved, with a cell of its own before an exercise."""

    def change(notebook):
        solved(notebook, **sources)
        notebook.cells.insert(place_of(notebook, before, answer=True), nbformat.v4.new_code_cell(source))

    return change


def only(**sources: str) -> Callable:
    """-> a change: see `solved`."""
    return lambda notebook: solved(notebook, **sources)
