"""What a teacher does with a course: take a class list in, grade an assignment, hand out the marks."""

import contextlib
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory
from traitlets.config.loader import PyFileConfigLoader

from vit_course.teaching.classroom import grades, roster
from vit_course.teaching.classroom.collect import AUTOGRADED, READABLE, HandedIn, make_readable
from vit_course.teaching.classroom.graded import VERDICTS, read
from vit_course.teaching.classroom.grading import wanted_cells
from vit_course.teaching.classroom.isolation import Unprotected
from vit_course.teaching.classroom.repair import Wanted

CONFIG_NAME, REPORTS = "nbgrader_config.py", "reports"
NBGRADERS = "Object of type"  # how SQLAlchemy's warnings about nbgrader's own code begin


@contextlib.contextmanager
def gradebook_of(course: Path) -> Iterator[Gradebook]:
    """The gradebook of a course folder, by the course's own settings; open inside a `with`.

    Raises:
        ValueError: a folder that is no course, settings or a gradebook that cannot be read.
    """
    if not (course / CONFIG_NAME).is_file():
        raise ValueError(f"{course} is not a course folder: it has no {CONFIG_NAME}")
    try:
        config = PyFileConfigLoader(CONFIG_NAME, path=str(course.resolve())).load_config()
        settings = CourseDirectory(config=config)
    except Exception as error:  # the settings are a program: whatever it raises
        raise ValueError(f"{course / CONFIG_NAME} cannot be run: {type(error).__name__}: {error}") from error
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=NBGRADERS)
        try:
            gradebook = Gradebook(settings.db_url, settings.course_id)
        except Exception as error:  # of SQLite, of alembic, of nbgrader
            what = str(error).splitlines()[0]
            raise ValueError(f"the gradebook {settings.db_url} cannot be read: {what}. Restore a copy of it") from error
        with gradebook:
            yield gradebook


def take_roster(course: Path, file: Path, id_column: str | None = None) -> str:
    """Brings a class list into a course's gradebook; -> what was done, in a sentence.

    Raises:
        ValueError: a folder that is no course, or as `roster.read_roster`.
        OSError: a file that cannot be read.
    """
    learners = roster.read_roster(file, id_column)
    with gradebook_of(course) as gradebook:
        new, old = roster.import_roster(gradebook, learners)
    return f"{file}: {new} new learners, {old} already there"


def grade(
    course: Path, assignment: str, way: Unprotected, students=(), force: bool = False, jobs: int = 1, settings=()
) -> int:
    """Grades what was handed in, writes a report for the teacher and prints its beginning.

    Args:
        course: the course folder.
        assignment: such as "04_attention".
        way: how submissions are kept apart, of `isolation.choose`.
        students: only these; by default all.
        force: grade again what has been graded.
        jobs: how many are graded at the same time.
        settings: further arguments of `nbgrader autograde`.

    Returns:
        0 where all that was handed in has a mark, else 1.

    Raises:
        ValueError: a folder that is no course, an assignment that was not generated.
    """
    print(": ".join(filter(None, [f"graded with {way.name}", way.lacks])), flush=True)
    with gradebook_of(course) as gradebook:
        wanted = _wanted(gradebook, assignment)
    exercises = {one.name: asked for one in wanted if (asked := read(one.source))}
    handed_in = make_readable(course, assignment, wanted, way, students, jobs, force)
    _print_notes(handed_in)
    done = _autograde(course, assignment, [*settings, f"--RunApart.isolation={way.name}"])
    with gradebook_of(course) as gradebook:
        _remember(gradebook, course, assignment, handed_in, exercises)
        found = grades.marks(gradebook, [assignment], students)
    report = course / REPORTS / f"{assignment}.txt"
    report.parent.mkdir(exist_ok=True)
    report.write_text(_report(course, assignment, found, handed_in), encoding="utf-8")
    print(_summary(found))
    print(f"{report}: every verdict, and everything that was out of order")
    return int(done != 0 or any(one.state == grades.NOT_GRADED for one in found))


def export(course: Path, form: str, path: Path, assignments=(), students=(), missing_is_zero: bool = False) -> str:
    """Writes the marks to a file; -> what is in it, in a sentence.

    Args:
        course: the course folder.
        form, path, missing_is_zero: see `grades.write`.
        assignments, students: only these; by default all.

    Raises:
        ValueError: a folder that is no course, an assignment that the gradebook does not have.
        OSError: a file that cannot be written.
    """
    with gradebook_of(course) as gradebook:
        found = grades.marks(gradebook, assignments, students)
    grades.write(found, form, path, missing_is_zero)
    return f"{path}: {_summary(found)}"


def _wanted(gradebook: Gradebook, assignment: str) -> list[Wanted]:
    try:
        return wanted_cells(gradebook.find_notebook(assignment, assignment))
    except MissingEntry:
        raise ValueError(
            f"the gradebook has no assignment {assignment!r}: run `nbgrader generate_assignment {assignment} --create` "
            "in the course folder first"
        ) from None


def _remember(gradebook: Gradebook, course: Path, assignment: str, handed_in: list[HandedIn], exercises: dict) -> None:
    # What cannot be read was handed in all the same: there is a submission, and what is lost of it has no score.
    for one in handed_in:
        if not one.is_read:  # what was graded before, and its page, are not of what is there now
            for step in (AUTOGRADED, "feedback"):
                shutil.rmtree(course / step / one.student / assignment, ignore_errors=True)
        judged = (course / AUTOGRADED / one.student / assignment).is_dir()
        if judged and not one.lost:
            continue
        gradebook.update_or_create_student(one.student)
        submission = gradebook.update_or_create_submission(assignment, one.student)
        for found in (found for notebook in submission.notebooks for found in notebook.grades):
            if not judged or (found.name in exercises and exercises[found.name].name in one.lost):
                found.auto_score, found.needs_manual_grade = None, True
        gradebook.db.commit()


def _print_notes(handed_in: list[HandedIn]) -> None:
    for one in handed_in:
        for note in one.notes:
            print(f"{one.student}: {note}", flush=True)
        if not one.is_read:
            print(f"{one.student}: NOT GRADED", flush=True)


def _autograde(course: Path, assignment: str, settings) -> int:
    # One nbgrader for each share of what was handed in. It would go by timestamps; what is there has other bytes.
    command = [sys.executable, "-m", "nbgrader", "autograde", assignment, "--force", "--log-level=WARN", *settings]
    runs = [
        subprocess.Popen(
            [*command, f"--CourseDirectory.submitted_directory={READABLE}/{share.name}"],
            cwd=course, env=_environment(),
        )
        for share in sorted((course / READABLE).glob("*"))
    ]  # fmt: skip
    return max((run.wait() for run in runs), default=0)


def _environment() -> dict[str, str]:
    # nbgrader starts in the course's folder, and this package may be known by where the teacher stands alone.
    package = str(Path(__file__).parents[3])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": f"ignore:{NBGRADERS}"}


def _summary(found: list[grades.Mark]) -> str:
    states = [one.state for one in found]
    lines = [
        ", ".join(f"{states.count(state)} {state}" for state in (grades.GRADED, grades.NOT_GRADED, grades.MISSING))
    ]
    for one in found:
        if one.state == grades.NOT_GRADED:
            who, parts = f"{one.student['id']}, {one.assignment}", ", ".join(one.not_graded)
            lines.append(f"  not graded: {who}: {parts} ({one.so_far:g} points without them)")
    return "\n".join(lines)


def _report(course: Path, assignment: str, found: list[grades.Mark], handed_in: list[HandedIn]) -> str:
    notes = {one.student: one.notes for one in handed_in}
    parts = [f"{assignment}: {_summary(found)}"]
    for one in found:
        points = {grades.GRADED: f"{one.so_far:g} of {one.most:g} points"}.get(one.state, one.state)
        student = one.student["id"]
        name = " ".join(filter(None, (one.student["first_name"], one.student["last_name"])))
        lines = [f"== {student}{f' ({name})' if name else ''}: {points}"]
        lines += [f"- {note}" for note in notes.get(student, [])]
        verdicts = course / AUTOGRADED / student / assignment / VERDICTS
        if verdicts.is_file() and one.raw is not None:
            lines.append(verdicts.read_text(encoding="utf-8").rstrip())
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"
