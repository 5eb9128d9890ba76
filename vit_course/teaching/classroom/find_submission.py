"""Finds and reads one learner's submission; `collect` runs this program in a process with limited resources.

It never runs code of the submission, and prints only JSON: a notebook of valid, repaired cells, the names of the files
beside it, and sentences for the teacher.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

import nbformat
from nbformat.v4 import new_markdown_cell

from vit_course.teaching.classroom.grading_cell import OURS, TIMESTAMP, parse_grading_cell
from vit_course.teaching.classroom.list_files import plain_files
from vit_course.teaching.classroom.parse_notebook import read_notebook
from vit_course.teaching.classroom.repair import AssignmentCell, defines, is_stub, repair_cells
from vit_course.teaching.classroom.resource_limits import limit

MOST_FILES, MOST_BYTES = 1000, 500 * 2**20  # in one submission's folder
SHOWN = 5  # names in a sentence


@dataclass
class SearchResult:
    """What was found of one learner's submission.

    Args:
        place: the notebook's folder: the index of the given folder, and the path inside it.
        notebook: with valid, repaired cells, as a dict; None where none could be read.
        files: the paths of the other files in that folder, relative to it.
        notes: everything unusual about the submission, in sentences for the teacher.
        lost: names of the checks whose answers were in a part of the file that cannot be read.
        timestamp: what the folder says about when it was handed in, or "".
    """

    place: tuple[int, str] = (0, "")
    notebook: dict | None = None
    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    timestamp: str = ""


@dataclass(frozen=True)
class _Candidate:
    """A file that may be the notebook."""

    path: Path
    place: int
    inner: Path
    notebook: nbformat.NotebookNode | None
    said: list[str]
    has_checks: bool  # of this assignment
    others: list[str]  # names of exercises of other assignments
    worked: int  # how many answers differ from their stub
    untouched: int  # how many answers are still the stub
    is_meant: bool  # by its name or its folder
    in_place: bool  # has both, as the assignment was handed out

    @property
    def is_ours(self) -> bool:
        """Whether it holds anything of this assignment."""
        return self.has_checks or self.worked + self.untouched > 0

    @property
    def order(self) -> tuple:
        """The sort key: readable, has the exercises, answers written, right place, right name or folder, newest."""
        modified = self.path.stat().st_mtime
        return (self.notebook is not None, self.is_ours, self.worked, self.in_place, self.is_meant, modified)


def main(task: dict) -> None:
    """Prints what was found as JSON, or `null` where nothing was handed in for the assignment."""
    limit(task["limits"])
    wanted = [AssignmentCell(**one) for one in task["wanted"]]
    folders = [Path(path) for path in task["folders"]]
    found = find(folders, task["assignment"], wanted, frozenset(task["handed_out"]), task["assignment_files"])
    json.dump(found and asdict(found), sys.stdout)


def find(
    folders: list[Path],
    assignment: str,
    wanted: list[AssignmentCell],
    handed_out: frozenset[str],
    assignment_files: Sequence[str],
) -> SearchResult | None:
    """What one learner handed in, whatever it is called and wherever it lies; None where there is nothing.

    Args:
        folders: the learner's folders, the one named after the learner first.
        assignment: such as "04_attention".
        wanted: the cells of the assignment.
        handed_out: the sources of all cells of the assignment as it was handed out.
        assignment_files: the names of the assignment's own files and folders, which are not taken from a submission.
    """
    files = [(number, path) for number, folder in enumerate(folders) for path in plain_files(folder, OURS, True)]
    notebooks = [(number, inner) for number, inner in files if _is_notebook(inner)]
    candidates = list(_candidates(folders, notebooks[:MOST_FILES], assignment, wanted, handed_out))
    chosen = max((one for one in candidates if one.is_meant or one.has_checks), key=lambda one: one.order, default=None)
    if chosen is None or (chosen.notebook is not None and not chosen.is_ours):
        return _no_notebook(files, assignment, chosen)
    found = SearchResult((chosen.place, str(chosen.inner.parent)), notes=list(chosen.said))
    if not chosen.in_place:
        found.notes.append(
            f"handed in as {chosen.inner}; not its place or its name, but it was taken as {assignment}.ipynb"
        )
    others = sorted(one.inner.name for one in candidates if one is not chosen and (one.is_meant or one.has_checks))
    if others:
        found.notes.append(f"several notebooks were handed in; {chosen.inner} was graded, not {_listed(others)}")
    if chosen.notebook is None:
        return found
    if not chosen.has_checks:
        found.notes.append(f"{chosen.inner} has none of the assignment's checks; they were put back")
    _repair(found, chosen, wanted, handed_out)
    folder = chosen.path.parent
    found.files = _other_files(found, folder, assignment_files)
    found.timestamp = _timestamp(found, folders, assignment, chosen.path)
    return found


def _candidates(folders, files, assignment, wanted, handed_out) -> Iterator[_Candidate]:
    names = {one.check.name for one in wanted if one.check}
    for number, inner in files:
        path = folders[number] / inner
        notebook, said = read_notebook(path)
        cells = notebook.cells if notebook else []
        asked = {e.name for cell in cells if cell.cell_type == "code" and (e := parse_grading_cell(cell.source))}
        in_folder = inner.parent.name == assignment or (number > 0 and inner.parent == Path())
        is_meant = in_folder or _plain(assignment) in _plain(path.stem)
        untouched = sum(is_stub(cell, one) for one in wanted if one.solution for cell in cells)
        yield _Candidate(
            path, number, inner, notebook, said, bool(asked & names), sorted(asked - names),
            _worked(cells, wanted, handed_out), untouched, is_meant, in_folder and path.stem == assignment,
        )  # fmt: skip


def _worked(cells: list, wanted: list[AssignmentCell], handed_out: frozenset[str]) -> int:
    stubs = {one.name: one for one in wanted if one.solution}
    written = [cell for cell in cells if cell.source not in handed_out]
    return sum(
        any(defines(cell, one.check.answer) and not is_stub(cell, stubs.get(f"{one.name}-answer")) for cell in written)
        for one in wanted
        if one.check
    )


def _no_notebook(files: list[tuple[int, Path]], assignment: str, foreign: _Candidate | None) -> SearchResult | None:
    # No notebook of this assignment: is there anything else that is meant for it?
    if foreign is not None:
        holds = f"exercises of another one: {_listed(foreign.others)}" if foreign.others else "none of its exercises"
        return SearchResult((foreign.place, str(foreign.inner.parent)), notes=[f"{foreign.inner} holds {holds}"])
    meant = [
        str(inner)
        for number, inner in files
        if inner.parts[0] == assignment or number > 0 or _plain(assignment) in _plain(inner.stem)
    ]
    meant = [name for name in meant if Path(name).name != TIMESTAMP]
    if not meant:
        return None
    packed = any(name.lower().endswith((".zip", ".tar", ".gz", ".7z", ".rar")) for name in meant)
    advice = "; unpack it and grade again" if packed else ""
    return SearchResult((0, assignment), notes=[f"no notebook of this assignment, but {_listed(meant)}{advice}"])


def _repair(found: SearchResult, chosen: _Candidate, wanted: list, handed_out: frozenset[str]) -> None:
    notebook = chosen.notebook
    if chosen.said:  # parts of the file could not be read
        checks = [one for one in wanted if one.check]
        found.lost = [e.name for e in checks if not any(defines(cell, e.check.answer) for cell in notebook.cells)]
    if found.lost:
        found.notes.append(f"not found in what could be read: {', '.join(found.lost)}")
    notes = repair_cells(notebook, wanted, handed_out)
    if notes:
        lines = [f"- {note}" for note in notes]
        notebook.cells.insert(0, new_markdown_cell("\n".join(["**What was handed in was repaired:**", "", *lines])))
    notebook.metadata["vit_course"] = {"notes": notes}
    found.notebook = notebook


def _other_files(found: SearchResult, folder: Path, assignment_files: Sequence[str]) -> list[str]:
    # Data and helpers; other notebooks are not graded.
    names, total = [], 0
    for inner in plain_files(folder, (*OURS, *assignment_files)):
        if _is_notebook(inner) or str(inner) == TIMESTAMP:
            continue
        total += (folder / inner).stat().st_size
        if len(names) == MOST_FILES or total > MOST_BYTES:
            found.notes.append("the folder holds more files than can be copied; some were left out")
            break
        names.append(str(inner))
    return names


def _timestamp(found: SearchResult, folders: list[Path], assignment: str, path: Path) -> str:
    # nbgrader writes this file when it collects; in an uploaded folder, the learner may have written it.
    for folder in (folders[0] / assignment, path.parent):
        file = folder / TIMESTAMP
        if file.is_file() and not file.is_symlink() and file.stat().st_size < 100:
            text = file.read_text(encoding="utf-8", errors="replace").strip()
            if not _is_time(text):
                found.notes.append(f"{TIMESTAMP} does not say when it was handed in, and was left out: {text!r}")
                return ""
            found.notes.append(
                f"{TIMESTAMP} says {text}: where learners upload whole folders, they may have written it themselves"
            )
            return text
    return ""


def _is_notebook(inner: Path) -> bool:
    # Also "a.ipynb (1)", as some browsers name a second download.
    return inner.suffix.lower().startswith(".ipynb") and ".ipynb_checkpoints" not in inner.parts


def _is_time(text: str) -> bool:
    # Whether nbgrader can read it: its own format, whose time zone is a name or an offset, or none.
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(\.\d{1,6})?( ?(Z|[A-Z]{2,5}|[+-]\d{4}))?", text)
    try:
        return bool(found) and 2000 <= datetime.fromisoformat(found[1]).year < 2200
    except ValueError:  # such as 30 February
        return False


def _plain(name: str) -> str:
    # Letters and digits alone: "04_attention (1)", "04_attention-Copy1" and "Ada_04-Attention" then contain the name.
    return re.sub(r"[\W_]+", "", name).lower()


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
