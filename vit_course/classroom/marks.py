"""Marks out of nbgrader's gradebook: as a table, and in the forms that Moodle and Canvas import.

Moodle: docs.moodle.org, "Grade import"; "-" is no grade. Canvas: its guide "How do I import grades in the Gradebook";
an empty cell is no grade.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

GRADED, NOT_GRADED, MISSING = "graded", "not graded", "missing"
# As nbgrader's own export has them, and two more.
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
        most: points for all of it.
        raw: points of what was graded; None where nothing was handed in.
        penalty: for being late.
        dates: when it was due and when it was handed in; None where nobody knows.
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
        """Whether the mark is one: a zero is "graded", what nobody could judge is not."""
        if self.raw is None:
            return MISSING
        return NOT_GRADED if self.not_graded else GRADED

    @property
    def so_far(self) -> float:
        """Points of all that was graded, less what being late costs."""
        return max(0.0, (self.raw or 0.0) - self.penalty)

    @property
    def points(self) -> float | None:
        """The mark; None where there is none."""
        return self.so_far if self.state == GRADED else None


def marks(gradebook: Gradebook, assignments: Iterable[str] = (), students: Iterable[str] = ()) -> list[Mark]:
    """All marks, or those of some assignments and learners; by assignment, then by learner.

    Args:
        gradebook: nbgrader's, open.
        assignments, students: only these; by default all. Who is not in the gradebook has no mark.

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
    return (student.last_name or "", student.first_name or "", student.id)


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


def write_table(found: list[Mark], path: Path) -> None:
    """A row for each learner and assignment, in nbgrader's columns; "score" is empty where there is no mark.

    Args:
        found: the marks.
        path: of the CSV file, which is written anew.

    Raises:
        OSError: a file that cannot be written.
    """
    rows = [
        (
            one.assignment, *one.dates, *(one.student[name] for name in ("id", "last_name", "first_name", "email")),
            one.raw, one.penalty, one.points, one.most, one.state, " ".join(one.not_graded),
        )
        for one in found
    ]  # fmt: skip
    _write(path, [COLUMNS, *rows])


def write_moodle(found: list[Mark], path: Path, missing: str = "-") -> None:
    """A row for each learner, a column for each assignment; Moodle finds learners by either of two columns.

    Args:
        found, path: see `write_table`.
        missing: what stands where nothing was handed in.

    Raises:
        OSError: a file that cannot be written.
    """
    names = _assignments(found)
    rows = [("First name", "Last name", "ID number", "Email address", *names)]
    for student, by_name in _by_student(found):
        number = student["lms_user_id"] or student["id"]
        person = (student["first_name"], student["last_name"], number, student["email"])
        rows.append((*person, *(_cell(by_name[name], "-", missing) for name in names)))
    _write(path, rows)


def write_canvas(found: list[Mark], path: Path, missing: str = "") -> None:
    """A row for each learner, a column for each assignment, and before them the points possible.

    Args:
        found, path: see `write_table`.
        missing: what stands where nothing was handed in.

    Raises:
        OSError: a file that cannot be written.
    """
    names = _assignments(found)
    most = {one.assignment: one.most for one in found}
    rows = [("Student", "ID", "SIS Login ID", "Section", *names)]
    rows.append(("Points Possible", "", "", "", *(f"{most[name]:g}" for name in names)))
    for student, by_name in _by_student(found):
        full = ", ".join(filter(None, (student["last_name"], student["first_name"]))) or student["id"]
        person = (full, student["lms_user_id"], student["id"], "")
        rows.append((*person, *(_cell(by_name[name], "", missing) for name in names)))
    _write(path, rows)


def _assignments(found: list[Mark]) -> list[str]:
    return sorted({one.assignment for one in found})


def _by_student(found: list[Mark]) -> list[tuple]:
    people = {one.student["id"]: (one.student, {}) for one in found}
    for one in found:
        people[one.student["id"]][1][one.assignment] = one
    return list(people.values())


def _cell(one: Mark, not_graded: str, missing: str) -> str:
    return {GRADED: f"{one.so_far:g}", NOT_GRADED: not_graded, MISSING: missing}[one.state]


def _write(path: Path, rows: list) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["" if cell is None else cell for cell in row] for row in rows])


class Table(ExportPlugin):
    """What `nbgrader export` writes in a course of ours."""

    def export(self, gradebook: Gradebook) -> None:
        """Writes the table to the file that was asked for, or to grades.csv.

        Args:
            gradebook: nbgrader's, open.

        Raises:
            ValueError: an assignment that the gradebook does not have.
            OSError: a file that cannot be written.
        """
        found = marks(gradebook, map(str, self.assignment), map(str, self.student))
        write_table(found, Path(self.to or "grades.csv"))
