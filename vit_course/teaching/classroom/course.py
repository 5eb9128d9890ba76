"""An nbgrader course folder, made from the chapters."""

import re
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat

from vit_course.teaching.classroom.exercises import SOLUTION, ExerciseCells, exercises_of, with_holes
from vit_course.teaching.classroom.grading_cell import GradingCell

if TYPE_CHECKING:
    from vit_course.checks.exercise import Exercise

# The nbgrader_config.py of a new course; a teacher's own settings go below the call.
CONFIG = '''"""Settings of nbgrader for this course: nbgrader_config.py"""

from vit_course.teaching.classroom.nbgrader_settings import configure

c = get_config()  # noqa: F821
configure(c, __file__)
c.CourseDirectory.course_id = "{course_id}"
# `nbgrader release_assignment` copies to a folder that everybody on the machine may write to. Until you name one where
# learners reach it, it lies inside this folder, which only you can open.
# c.Exchange.root = "/srv/nbgrader/exchange"
'''


def make_course(notebooks: Path, folder: Path, chapters: list[str] | None = None, overwrite: bool = False) -> list[str]:
    """Writes the source notebooks and settings of an nbgrader course; returns the names of the assignments.

    Args:
        notebooks: the folder of the chapters.
        folder: the course folder to make.
        chapters: the first characters of the wanted chapters' names, such as "04"; all of them by default.
        overwrite: write the assignments' sources anew where the folder is a course already. What learners handed
            in, the releases and the gradebook stay.

    Raises:
        ValueError: `folder` is a file, or already exists and is not empty; a chapter does not exist, or its exercises
            cannot be read.
        OSError: the folder cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, not a folder")
    if folder.exists() and any(folder.iterdir()) and not overwrite:
        raise ValueError(f"{folder} already exists and is not empty: add --overwrite to rewrite its assignments")
    every = sorted(notebooks.glob("[0-9][0-9]_*.ipynb"))
    for chapter in chapters or []:
        if not any(path.name.startswith(chapter) for path in every):
            known = ", ".join(path.stem for path in every)
            raise ValueError(f"there is no chapter {chapter!r}; the chapters are {known}")
    wanted = [path for path in every if not chapters or path.name.startswith(tuple(chapters))]
    # All are made before the first is written, so that an unreadable chapter leaves no partial course behind.
    made = {path: _assignment(nbformat.read(path, as_version=4)) for path in wanted}
    if not folder.exists():
        # Private, because the folder will hold solutions, seeds and marks.
        folder.mkdir(parents=True)
        folder.chmod(0o700)
    for path, notebook in made.items():
        source = folder / "source" / path.stem
        source.mkdir(parents=True, exist_ok=True)
        _bring_files(notebook, notebooks, source)
        nbformat.write(notebook, source / path.name)
    if not (folder / "nbgrader_config.py").exists():
        text = CONFIG.format(course_id=course_id(folder))
        (folder / "nbgrader_config.py").write_text(text, encoding="utf-8")
    return [path.stem for path in wanted]


def course_id(folder: Path) -> str:
    """The course's name for nbgrader: the folder's, of letters, digits and dashes alone, or else "vit-course"."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", folder.resolve().name).strip("-") or "vit-course"


def _assignment(notebook):
    """The chapter with its stubs solved, its checks graded and its folded solutions taken out."""
    for exercise in exercises_of(notebook):
        text, stub, check = (notebook.cells[i] for i in (exercise.text, exercise.stub, exercise.check))
        text.source = SOLUTION.sub("", text.source).rstrip()
        stub.source = with_holes(exercise)
        identity = exercise.name.replace(".", "-")
        _set_metadata(stub, f"{identity}-answer", solution=True)
        check.source = _grading_source(exercise)
        _set_metadata(check, identity, grade=True, locked=True, points=_exercise(exercise).points)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def _grading_source(exercise: ExerciseCells) -> str:
    # Ten digits each, so that no other number on a feedback page equals a seed by chance. No seeds where the check
    # draws nothing: they would only repeat the learner's experiment.
    seeds = tuple(10**9 + secrets.randbelow(10**9) for _ in range(2 if _exercise(exercise).draws else 0))
    return GradingCell(exercise.name, exercise.answer, seeds, _exercise(exercise).points).source


def _exercise(cells: ExerciseCells) -> "Exercise":
    # Imported here, because the checks import PyTorch, which takes seconds: an unusable folder is refused before that.
    from vit_course.checks import EXERCISES

    return EXERCISES[cells.name]


def _set_metadata(cell, identity: str, **options) -> None:
    usual = {"schema_version": 3, "grade": False, "locked": False, "solution": False, "task": False}
    cell.metadata["nbgrader"] = {**usual, "grade_id": identity, **options}


def _bring_files(notebook, notebooks: Path, target: Path) -> None:
    # Each assignment has its own folder: pictures and tables are copied into it, and links to chapters go one level up.
    for cell in notebook.cells:
        for name in re.findall(r"\.\./(res/[\w./-]+\.\w+)", cell.source):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(notebooks.parent / name, target / name)
        cell.source = cell.source.replace("../res/", "res/")
        if cell.cell_type == "markdown":
            cell.source = re.sub(r"\]\(((\d\d_\w+)\.ipynb)", r"](../\2/\1", cell.source)
