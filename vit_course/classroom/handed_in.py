"""Finds what each learner handed in for an assignment, whatever it is called and wherever it lies."""

import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from vit_course.classroom.graded import VERDICTS, Graded, read
from vit_course.classroom.mended import defines
from vit_course.classroom.readable import read_notebook

SUBMITTED, READABLE = "submitted", "readable"
TIMESTAMP = "timestamp.txt"
MOST_FILES, MOST_BYTES = 1000, 500 * 2**20  # of one submission's folder
OURS = (VERDICTS, ".ipynb_checkpoints")


@dataclass
class HandedIn:
    """What one learner handed in.

    Args:
        student: whose.
        folder: in which it lies.
        notebook: of sound cells, or None where none could be read.
        notes: what was not as it should be, in sentences for the teacher.
        lost: exercises whose answers were in a part of the file that cannot be read.
    """

    student: str
    folder: Path
    notebook: nbformat.NotebookNode | None = None
    notes: list[str] = field(default_factory=list)
    lost: tuple[str, ...] = ()


def make_readable(
    course: Path, assignment: str, exercises: Iterable[Graded], students=None, shares: int = 1
) -> list[HandedIn]:
    """Copies each submission to the folder `readable`, under the names that nbgrader expects.

    The folder holds what was found now and nothing else, in `shares` folders 0, 1, ... of about the same size.

    Args:
        course: the course folder; what is in its `submitted` stays as it is.
        assignment: such as "04_attention".
        exercises: of the assignment; a notebook of another name is known by its checks.
        students: only these; by default all.
        shares: how many folders.

    Returns:
        One for each learner of whom there is anything for this assignment, in the order of their names.

    Raises:
        OSError: a file that cannot be read or copied.
    """
    found, count = [], 0
    shutil.rmtree(course / READABLE, ignore_errors=True)
    for student, folders in sorted(_folders(course / SUBMITTED, assignment).items()):
        if students and student not in students:
            continue
        one = _of_one(student, folders, assignment, tuple(exercises))
        if one is None:
            continue
        found.append(one)
        if one.notebook is not None:
            place = course / READABLE / str(count % shares) / student / assignment
            count += 1
            place.mkdir(parents=True)
            _copy_files(one, place)
            stamp = course / SUBMITTED / student / assignment / TIMESTAMP
            if stamp.is_file():
                shutil.copyfile(stamp, place / TIMESTAMP)
            nbformat.write(one.notebook, place / f"{assignment}.ipynb")
    return found


def _folders(submitted: Path, assignment: str) -> dict[str, list[Path]]:
    # student -> the folders to look into; student and assignment may have changed places.
    found: dict[str, list[Path]] = {}
    for folder in sorted(submitted.iterdir() if submitted.is_dir() else ()):
        if not folder.is_dir() or folder.name.startswith("."):
            continue
        if folder.name == assignment:
            for inner in sorted(filter(Path.is_dir, folder.iterdir())):
                found.setdefault(inner.name, []).append(inner)
        else:
            found.setdefault(folder.name, []).insert(0, folder)
    return found


def _of_one(student: str, folders: list[Path], assignment: str, exercises: tuple[Graded, ...]) -> HandedIn | None:
    notes, read_ones, names = [], [], {one.name for one in exercises}
    for path in _candidates(folders):
        notebook, said = read_notebook(path)
        asked = set() if notebook is None else {e for cell in notebook.cells if (e := _asks(cell))}
        named = _alike(path, assignment)
        if not named and not asked & names:
            continue  # another assignment's, or anything else
        # First what can be read and holds the exercises, then what has the right place, then the right name.
        right_place = path.parent.name == assignment and path.stem == assignment
        order = (notebook is not None, bool(asked & names), right_place, named, path.stat().st_mtime)
        read_ones.append((order, path, notebook, said))
    if not read_ones:
        if (folders[0] / assignment).is_dir():
            return HandedIn(student, folders[0] / assignment, None, ["the folder holds no notebook of this assignment"])
        return None
    read_ones.sort(key=lambda one: one[0], reverse=True)
    (_, holds, right_place, *_), path, notebook, said = read_ones[0]
    where = path.relative_to(folders[0]) if path.is_relative_to(folders[0]) else path.name
    if not right_place:
        notes.append(f"handed in as {where}; it was taken as {assignment}.ipynb")
    if len(read_ones) > 1:
        others = ", ".join(sorted(one[1].name for one in read_ones[1:]))
        notes.append(f"several notebooks were handed in; {where} was graded, and not {others}")
    if notebook is not None and not holds:
        notes.append(f"{where} holds no check of this assignment; they were put back")
    lost = ()
    if notebook is not None and said:  # some of it was left out
        lost = tuple(e.name for e in exercises if not any(defines(cell, e.answer) for cell in notebook.cells))
    if lost:
        notes.append(f"not to be found in what could be read: {', '.join(lost)}")
    return HandedIn(student, path.parent, notebook, said + notes, lost)


def _candidates(folders: list[Path]) -> list[Path]:
    found = [path for folder in folders for path in sorted(folder.rglob("*.[iI][pP][yY][nN][bB]*"))]
    return [
        path
        for path in found
        if path.is_file() and not path.is_symlink() and ".ipynb_checkpoints" not in path.parts
    ][:MOST_FILES]  # fmt: skip


def _alike(path: Path, assignment: str) -> bool:
    # "04_attention (1)", "04_attention-Copy1", "Ada_04-Attention": letters and digits of the name in this order.
    plain = [re.sub(r"[\W_]+", "", name).lower() for name in (assignment, path.stem)]
    return plain[0] in plain[1] or path.parent.name == assignment


def _asks(cell) -> str | None:
    asked = read(cell.source) if cell.cell_type == "code" else None
    return asked.name if asked else None


def _copy_files(one: HandedIn, place: Path) -> None:
    # Data and helpers that lie beside the notebook; other notebooks are not graded.
    total = 0
    for count, inner in enumerate(plain_files(one.folder, OURS)):
        if inner.suffix.lower() == ".ipynb":
            continue
        total += (one.folder / inner).stat().st_size
        if count > MOST_FILES or total > MOST_BYTES:
            one.notes.append("the folder holds more files than can be copied; some were left out")
            return
        (place / inner).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(one.folder / inner, place / inner)


def plain_files(folder: Path, left_out: Iterable[str]) -> Iterator[Path]:
    """The paths of a learner's files within a folder; none of a link, which could lead anywhere.

    Args:
        folder: the learner's.
        left_out: what is passed over in it, by the first part of its path.
    """
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        links = (folder.joinpath(*inner.parts[: i + 1]).is_symlink() for i in range(len(inner.parts)))
        if path.is_file() and inner.parts[0] not in left_out and not any(links):
            yield inner
