"""Collects submissions: each is read and repaired in a sandboxed process, and written as plain files for nbgrader."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Container, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote

import nbformat

from vit_course._support.inputs.rules import harmless
from vit_course.teaching.classroom.grading_cell import DIGEST, TIMESTAMP
from vit_course.teaching.classroom.repair import AssignmentCell
from vit_course.teaching.classroom.sandbox import Limits, Sandbox, SandboxSettings
from vit_course.teaching.classroom.sandbox_environment import import_paths

SUBMITTED, READABLE, AUTOGRADED = "submitted", "readable", "autograded"
LIMITS = Limits(memory=2.0, processes=64, minutes=1.0, disk=0.01)
# Errors of one submission, whatever is in it; others, such as a full disk, end the command.
UNREADABLE = (ValueError, KeyError, TypeError, RecursionError, FileExistsError, NotADirectoryError, PermissionError)
BOOT = (
    "import json, sys; task = json.load(sys.stdin); sys.path[:0] = task['path']; "
    "from vit_course.teaching.classroom.find_submission import main; main(task)"
)


@dataclass
class CollectedSubmission:
    """What one learner handed in.

    Args:
        student: the learner's id in nbgrader.
        notes: everything unusual about the submission, in sentences for the teacher.
        lost: names of the checks whose answers were in a part of the file that cannot be read.
        is_read: whether there is a notebook to grade.
    """

    student: str
    notes: list[str] = field(default_factory=list)
    lost: Sequence[str] = ()
    is_read: bool = False


def make_readable(
    course: Path,
    assignment: str,
    wanted: Iterable[AssignmentCell],
    sandbox: Sandbox,
    students: Sequence[str] = (),
    shares: int = 1,
    graded: Container[str] = (),
) -> list[CollectedSubmission]:
    """Writes each submission to the folder `readable`, under the names that nbgrader expects.

    Afterwards the folder holds only the submissions to grade now, in `shares` folders 0, 1, ... of about the same size.

    Args:
        course: the course folder; what is in its `submitted` stays as it is.
        assignment: such as "04_attention".
        wanted: its cells, as the gradebook has them.
        sandbox: the sandbox of the process that reads them.
        students: only these; by default all.
        shares: how many folders.
        graded: learners who are left out if what they handed in has not changed since it was graded.

    Returns:
        A `CollectedSubmission` for each learner who handed in anything for this assignment, sorted by name.

    Raises:
        OSError: a file cannot be written.
    """
    collected, count, wanted = [], 0, [asdict(one) for one in wanted]
    handed_out = _sources(course, assignment)
    own_files = [path.name for path in (course / "source" / assignment).glob("*")]
    shutil.rmtree(course / READABLE, ignore_errors=True)
    for student, folders in sorted(_folders(course / SUBMITTED, assignment).items()):
        if students and student not in students:
            continue
        task = {"assignment": assignment, "wanted": wanted, "handed_out": handed_out, "assignment_files": own_files}
        place = course / READABLE / str(count % shares) / student / assignment
        try:
            one, found = _read(student, folders, task, sandbox, course)
            if found:
                _write(found, folders, place, assignment)
        except UNREADABLE as error:
            why = harmless(f"it cannot be read: {type(error).__name__}: {error}")
            one, found = CollectedSubmission(student, [why]), None
            shutil.rmtree(place.parent, ignore_errors=True)
        if one is None:
            continue
        collected.append(one)
        if found:
            before = course / AUTOGRADED / student / assignment / DIGEST
            if student in graded and before.is_file() and before.read_bytes() == (place / DIGEST).read_bytes():
                shutil.rmtree(place.parent)
            else:
                count += 1
    return collected


def _sources(course: Path, assignment: str) -> list[str]:
    # The sources of all cells as they were handed out.
    path = course / "release" / assignment / f"{assignment}.ipynb"
    path = path if path.is_file() else course / "source" / assignment / f"{assignment}.ipynb"
    return [cell.source for cell in nbformat.read(path, 4).cells] if path.is_file() else []


def _folders(submitted: Path, assignment: str) -> dict[str, list[Path]]:
    # student -> the folders to search. Folders may be student/assignment or, by mistake, assignment/student.
    found: dict[str, list[Path]] = {}
    for folder in sorted(submitted.iterdir() if submitted.is_dir() else ()):
        if not folder.is_dir() or folder.name.startswith("."):
            continue
        if folder.name == assignment:
            for inner in sorted(filter(Path.is_dir, folder.iterdir())):
                found.setdefault(_name(inner), []).append(inner)
        else:
            found.setdefault(_name(folder), []).insert(0, folder)
    return found


def _name(folder: Path) -> str:
    # A name that is not UTF-8, or that a terminal would obey, is percent-encoded; names stay distinct.
    return folder.name if harmless(folder.name) == folder.name else quote(os.fsencode(folder.name))


def _read(
    student: str, folders: list[Path], task: dict, sandbox: Sandbox, course: Path
) -> tuple[CollectedSubmission | None, dict | None]:
    # Returns (the summary for the teacher, what `find_submission` printed where there is a notebook).
    with tempfile.TemporaryDirectory(prefix="vit-course-") as home:
        readable = tuple(folder.resolve() for folder in folders)
        settings = SandboxSettings(Path(home), readable, LIMITS, (course.resolve(),))
        task = task | {
            "path": import_paths(settings.hidden),
            "folders": sandbox.readable_inside(settings),
            "limits": sandbox.bounds(LIMITS),
        }
        command, pipe = [sys.executable, "-I", "-c", BOOT], subprocess.PIPE
        with sandbox.start(command, settings, stdin=pipe, stdout=pipe, stderr=pipe) as process:
            try:
                out, said = process.communicate(json.dumps(task).encode(), 120 * LIMITS.minutes)
            except subprocess.TimeoutExpired:
                return CollectedSubmission(student, ["it took too long to read"]), None
            finally:
                sandbox.end(process, settings)
    if process.returncode:
        lines = said.decode(errors="replace").strip().splitlines()
        why = lines[-1] if lines else "the process that reads it ended"
        return CollectedSubmission(student, [harmless(f"it cannot be read: {why}")]), None
    found = json.loads(out)
    if found is None:
        return None, None
    notes = [harmless(note) for note in found["notes"]]
    one = CollectedSubmission(student, notes, tuple(found["lost"]), found["notebook"] is not None)
    return one, found if one.is_read else None


def _write(found: dict, folders: list[Path], place: Path, assignment: str) -> None:
    number, inner = found["place"]
    source = folders[number] / inner
    place.mkdir(parents=True)
    notebook = nbformat.from_dict(found["notebook"])
    nbformat.write(notebook, place / f"{assignment}.ipynb")
    digest = hashlib.sha256("\0".join(cell.source for cell in notebook.cells).encode())
    for name in found["files"]:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, place / name, follow_symlinks=False)
        digest.update(name.encode() + (place / name).read_bytes())
    if found["timestamp"]:
        (place / TIMESTAMP).write_text(found["timestamp"], encoding="utf-8")
    (place / DIGEST).write_text(digest.hexdigest(), encoding="utf-8")
