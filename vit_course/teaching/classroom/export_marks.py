"""Exports marks from nbgrader's gradebook: as a table, and in the formats that Moodle and Canvas import.

Moodle: docs.moodle.org, "Grade import"; "-" is no grade. Canvas: its guide "How do I import grades in the Gradebook";
an empty cell is no grade.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

from vit_course._support.files.atomic import write_cells

GRADED, NOT_GRADED, MISSING = "graded", "not graded", "missing"
# The columns of nbgrader's own export, and two more.
COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email", "raw_score",
    "late_submission_penalty", "score", "max_score", "state", "not_graded",
)  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """One learner's mark for one assignment.

    Args:
        assignment: its name.
        student: "id", "first_name", "last_name", "email" and "lms_user_id", "" where the gradebook does not say.
        most: the points of a fully right submission.
        raw: points of what was graded; None where nothing was handed in.
        penalty: points lost for being late.
        dates: when it was due and when it was handed in; None where that is unknown.
        not_graded: names of what could not be graded.
    """

    assignment: str
    student: dict[str, str]
    most: float
    raw: float | None = None
    penalty: float = 0.0
    dates: tuple = (None, None)
    not_graded: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """ "missing", "graded" (also with 0 points), or "not graded" where a part could not be judged."""
        if self.raw is None:
            return MISSING
        return NOT_GRADED if self.not_graded else GRADED

    @property
    def so_far(self) -> float:
        """The points of all parts that were graded, less the penalty for being late."""
        return max(0.0, (self.raw or 0.0) - self.penalty)

    @property
    def late(self) -> str:
        """How late it was handed in, such as "1 d 2 h"; "" where it was in time."""
        due, came = self.dates
        if not due or not came or came <= due:
            return ""
        hours = math.ceil((came - due).total_seconds() / 3600)
        return " ".join(f"{count} {unit}" for count, unit in zip(divmod(hours, 24), "dh", strict=True) if count)

    @property
    def points(self) -> float | None:
        """The mark; None unless the state is "graded"."""
        return self.so_far if self.state == GRADED else None


def marks(gradebook: Gradebook, assignments: Iterable[str] = (), students: Iterable[str] = ()) -> list[Mark]:
    """All marks, or those of some assignments and learners; by assignment, then by learner.

    Args:
        gradebook: nbgrader's, open.
        assignments, students: only these; by default all. Students who are not in the gradebook are left out.

    Raises:
        ValueError: an assignment that the gradebook does not have.
    """
    assignments, students = list(assignments), list(students)
    known = {one.name: one for one in gradebook.assignments}
    for name in assignments:
        if name not in known:
            raise ValueError(f"the gradebook has no assignment {name!r}; it has {', '.join(known) or 'none'}")
    people = sorted((one for one in gradebook.students if not students or one.id in students), key=_order)
    return [
        _mark(gradebook, assignment, student)
        for name, assignment in sorted(known.items())
        if not assignments or name in assignments
        for student in people
    ]


def _order(student) -> tuple:
    return tuple((name or "").casefold() for name in (student.last_name, student.first_name, student.id))


def _mark(gradebook: Gradebook, assignment, student) -> Mark:
    names = ("id", "first_name", "last_name", "email", "lms_user_id")
    person = {name: getattr(student, name) or "" for name in names}
    try:
        there = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        return Mark(assignment.name, person, assignment.max_score, dates=(assignment.duedate, None))
    grades = [grade for notebook in there.notebooks for grade in notebook.grades]
    without = tuple(sorted(one.name for one in grades if one.auto_score is None and one.manual_score is None))
    dates, penalty = (assignment.duedate, there.timestamp), there.late_submission_penalty or 0.0
    return Mark(assignment.name, person, assignment.max_score, there.score, penalty, dates, without)


def write(found: list[Mark], form: str, path: Path, missing_is_zero: bool = False) -> None:
    """Writes marks as CSV.

    Args:
        found: the marks.
        form: "table", "moodle" or "canvas".
        path: the file, which is overwritten.
        missing_is_zero: for Moodle and Canvas, whether learners who handed in nothing get 0.

    Raises:
        OSError: as `write_atomically`; any earlier file is intact.
    """
    rows = {"table": _table, "moodle": _moodle, "canvas": _canvas}[form](found, "0" if missing_is_zero else None)
    write_cells(path, rows)


def _table(found: list[Mark], _) -> list[tuple]:
    """A row for each learner and assignment, in nbgrader's columns; "score" is empty where there is no mark."""
    return [COLUMNS] + [
        (
            one.assignment, *one.dates, *(one.student[name] for name in ("id", "last_name", "first_name", "email")),
            one.raw, one.penalty, one.points, one.most, one.state, " ".join(one.not_graded),
        )
        for one in found
    ]  # fmt: skip


def _moodle(found: list[Mark], missing: str | None) -> list[tuple]:
    """A row for each learner, a column for each assignment; Moodle finds learners by either of two columns."""
    names, rows = _by_student(found, "-", missing)
    table = [("First name", "Last name", "ID number", "Email address", *names)]
    for one, cells in rows:
        table.append((one["first_name"], one["last_name"], one["lms_user_id"] or one["id"], one["email"], *cells))
    return table


def _canvas(found: list[Mark], missing: str | None) -> list[tuple]:
    """A row for each learner, a column for each assignment, and before them the points possible."""
    names, rows = _by_student(found, "", missing)
    most = {one.assignment: f"{one.most:g}" for one in found}
    table = [("Student", "ID", "SIS Login ID", "Section", *names)]
    table.append(("Points Possible", "", "", "", *(most[name] for name in names)))
    for one, cells in rows:
        full = ", ".join(filter(None, (one["last_name"], one["first_name"]))) or one["id"]
        table.append((full, one["lms_user_id"], one["id"], "", *cells))
    return table


def _by_student(found: list[Mark], none: str, missing: str | None) -> tuple[list[str], list[tuple[dict, list[str]]]]:
    """Returns the assignments, and for each learner a table cell for each assignment."""
    shown = {NOT_GRADED: none, MISSING: none if missing is None else missing}
    cells: dict[str, dict[str, str]] = {}
    for one in found:
        cells.setdefault(one.student["id"], {})[one.assignment] = shown.get(one.state, f"{one.so_far:g}")
    names, people = sorted({one.assignment for one in found}), {one.student["id"]: one.student for one in found}
    return names, [(people[student], [row[name] for name in names]) for student, row in cells.items()]


class Table(ExportPlugin):
    """The plugin behind `nbgrader export`: writes the table to the given file, or to grades.csv."""

    def export(self, gradebook: Gradebook) -> None:
        """Writes the table; raises what `marks` and `write` do."""
        found = marks(gradebook, map(str, self.assignment), map(str, self.student))
        write(found, "table", Path(self.to or "grades.csv"))
