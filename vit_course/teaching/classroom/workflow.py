"""What a teacher does with a course: import a class list, grade an assignment, export the marks."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat.v4 import new_markdown_cell, new_notebook
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import determine_grade, is_grade
from traitlets.config.loader import PyFileConfigLoader

from vit_course._support.files.atomic import write_atomically
from vit_course.teaching.classroom import export_marks, nbgrader_settings, roster
from vit_course.teaching.classroom.collect import AUTOGRADED, READABLE, CollectedSubmission, make_readable
from vit_course.teaching.classroom.grading_cell import VERDICTS
from vit_course.teaching.classroom.repair import AssignmentCell
from vit_course.teaching.classroom.sandbox import Sandbox

CONFIG_NAME, REPORTS = "nbgrader_config.py", "reports"
CLASS_LIST = "class_list.txt"  # the ids of all class lists that were imported, one a line
# nbgrader without tracebacks, neither of Ctrl+C, which the command itself reports in one line, nor of errors such as a
# full disk. Ctrl+C while Python cleans up an object is printed and not raised; then `_autograde` sends it again.
RUN_NBGRADER = """
import signal, sys, traceback
import vit_course.teaching.classroom  # makes the import of nbgrader fast
signal.signal(signal.SIGTERM, signal.default_int_handler)
traceback.format_exc = lambda: "".join(traceback.format_exception_only(sys.exception())).strip()
printed = sys.unraisablehook
sys.unraisablehook = lambda error: None if error.exc_type is KeyboardInterrupt else printed(error)
try:
    from nbgrader.apps.nbgraderapp import main
    sys.argv[0] = "nbgrader"
    main()
except KeyboardInterrupt:
    sys.exit(130)
"""
SQLALCHEMY_WARNING = "Object of type"  # how SQLAlchemy's warnings about nbgrader's own code begin


@contextlib.contextmanager
def gradebook_of(course: Path) -> Iterator[Gradebook]:
    """Opens the gradebook of a course folder, as the course's settings name it; a context manager.

    Raises:
        ValueError: the folder is no course, or its settings or its gradebook cannot be read.
    """
    if not (course / CONFIG_NAME).is_file():
        raise ValueError(f"{course} is not a course folder: it has no {CONFIG_NAME}")
    try:
        config = PyFileConfigLoader(CONFIG_NAME, path=str(course.resolve())).load_config()
        settings = CourseDirectory(config=config)
    except Exception as error:  # the settings are a Python program, which may raise anything
        raise ValueError(f"{course / CONFIG_NAME} cannot be run: {type(error).__name__}: {error}") from error
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=SQLALCHEMY_WARNING)
        try:
            gradebook = Gradebook(settings.db_url, settings.course_id)
        except Exception as error:  # an error of SQLite, alembic or nbgrader
            what = str(error).splitlines()[0]
            raise ValueError(
                f"the gradebook {settings.db_url} cannot be read: {what}. Restore it from a copy"
            ) from error
        with gradebook:
            yield gradebook


def take_roster(course: Path, file: Path, id_column: str | None = None) -> str:
    """Imports a class list into a course's gradebook; returns a sentence that says what was done.

    Raises:
        ValueError: the folder is no course, or as `roster.read_roster`.
        OSError: the file cannot be read.
    """
    learners = roster.read_roster(file, id_column)
    with gradebook_of(course) as gradebook:
        new, old = roster.import_roster(gradebook, learners)
    listed = _class_list(course) | {learner["id"] for learner in learners}
    write_atomically(course / CLASS_LIST, "\n".join(sorted(listed)).encode())
    return f"{file}: {new} new learners, {old} already there"


def grade(
    course: Path, assignment: str, sandbox: Sandbox, students=(), force: bool = False, jobs: int = 1, settings=()
) -> int:
    """Grades the submissions of an assignment, writes a report for the teacher and prints a summary.

    Args:
        course: the course folder.
        assignment: such as "04_attention".
        sandbox: for the submissions, as from `isolation.choose`.
        students: only these; by default all.
        force: grade again submissions that were graded before.
        jobs: how many submissions are graded at the same time.
        settings: further arguments of `nbgrader autograde`.

    Returns:
        0 where every submission has a mark, else 1.

    Raises:
        ValueError: the folder is no course, or the assignment was not generated.
    """
    print(": ".join(filter(None, [f"grading with {sandbox.name}", sandbox.lacks])), flush=True)
    with gradebook_of(course) as gradebook:
        wanted = _wanted(gradebook, assignment)
        graded = () if force else _already_graded(gradebook, course, assignment)
    handed_in = make_readable(course, assignment, wanted, sandbox, students, jobs, graded)
    listed = _class_list(course)
    for one in handed_in:
        if listed and one.student not in listed:
            one.notes.append(f"{one.student} is not in the class list: left out of exports without --unlisted")
    _print_notes(handed_in)
    exit_code = _autograde(course, assignment, [*settings, f"--RunInSandbox.isolation={sandbox.name}"])
    with gradebook_of(course) as gradebook:
        _save_ungraded(gradebook, course, assignment, handed_in)
        found = export_marks.marks(gradebook, [assignment], students)
    report = course / REPORTS / f"{assignment}.txt"
    report.parent.mkdir(exist_ok=True)
    report.write_text(_report(course, assignment, found, handed_in), encoding="utf-8")
    print(_summary(found, {one.student: _reasons(course, assignment, one) for one in handed_in}))
    print(f"{report}: every verdict, and everything unusual")
    print(f"next: python -m vit_course classroom export {course} writes the marks as a table")
    return int(exit_code != 0 or any(one.state == export_marks.NOT_GRADED for one in found))


def export(
    course: Path,
    form: str,
    path: Path,
    assignments=(),
    students=(),
    missing_is_zero: bool = False,
    unlisted: bool = False,
) -> str:
    """Writes the marks to a file; returns sentences that say what is in it.

    Args:
        course: the course folder.
        form, path, missing_is_zero: see `export_marks.write`.
        assignments, students: only these; by default all.
        unlisted: also learners who are not in the class list, where one was imported.

    Raises:
        ValueError: the folder is no course, or the gradebook does not have an assignment.
        OSError: the file cannot be written.
    """
    with gradebook_of(course) as gradebook:
        found = export_marks.marks(gradebook, assignments, students)
    listed = _class_list(course) or {one.student["id"] for one in found}
    others = sorted({one.student["id"] for one in found} - listed)
    if not unlisted:
        found = [one for one in found if one.student["id"] in listed]
    export_marks.write(found, form, path, missing_is_zero)
    what = "there all the same" if unlisted else "left out; --unlisted takes them in"
    return "\n".join([f"{path}: {_summary(found)}", *(f"  not in the class list: {who} ({what})" for who in others)])


def _class_list(course: Path) -> set[str]:
    # The ids of the class lists that were imported; empty where none was.
    path = course / CLASS_LIST
    return set(path.read_text(encoding="utf-8").split("\n")) if path.is_file() else set()


def _already_graded(gradebook: Gradebook, course: Path, assignment: str) -> set[str]:
    # The learners whose graded notebook is there, and whose points the gradebook has: it may be an older copy.
    return {
        path.parts[-3]
        for path in course.glob(f"{AUTOGRADED}/*/{assignment}/{assignment}.ipynb")
        if _has_points(gradebook, assignment, path.parts[-3], nbformat.read(path, as_version=4))
    }


def _has_points(gradebook: Gradebook, assignment: str, student: str, notebook) -> bool:
    try:
        return all(
            gradebook.find_grade(cell.metadata.nbgrader.grade_id, assignment, assignment, student).auto_score
            == determine_grade(cell)[0]
            for cell in notebook.cells
            if is_grade(cell)
        )
    except MissingEntry:
        return False


def _wanted(gradebook: Gradebook, assignment: str) -> list[AssignmentCell]:
    try:
        return nbgrader_settings.wanted_cells(gradebook.find_notebook(assignment, assignment))
    except MissingEntry:
        raise ValueError(
            f"the gradebook has no assignment {assignment!r}: run `nbgrader generate_assignment {assignment} --create` "
            "in the course folder first"
        ) from None


def _save_ungraded(gradebook: Gradebook, course: Path, assignment: str, handed_in: list[CollectedSubmission]) -> None:
    # An unreadable submission still counts as handed in: the gradebook gets a submission, and lost answers no score.
    for one in handed_in:
        place = course / AUTOGRADED / one.student / assignment
        if not one.is_read:  # an earlier result and its feedback belong to an older version
            for folder in (place, course / "feedback" / one.student / assignment):
                shutil.rmtree(folder, ignore_errors=True)
        judged = place.is_dir()
        if judged and not one.lost:
            continue
        gradebook.update_or_create_student(one.student)
        submission = gradebook.update_or_create_submission(assignment, one.student)
        for grade in (grade for notebook in submission.notebooks for grade in notebook.grades):
            if not judged or grade.name in one.lost:
                grade.auto_score, grade.needs_manual_grade = None, True
        gradebook.db.commit()
        if not judged:  # for a page of feedback
            lines = [f"- {note}" for note in one.notes]
            cell = new_markdown_cell("\n".join(["**This could not be graded:**", "", *lines]))
            place.mkdir(parents=True)
            nbformat.write(new_notebook(cells=[cell]), place / f"{assignment}.ipynb")


def _print_notes(handed_in: list[CollectedSubmission]) -> None:
    for one in handed_in:
        for note in one.notes:
            print(f"{one.student}: {note}", flush=True)
        if not one.is_read:
            print(f"{one.student}: NOT GRADED", flush=True)


def _autograde(course: Path, assignment: str, settings) -> int:
    # One nbgrader process for each share; --force, because `make_readable` has left out what need not be graded.
    command = [sys.executable, "-c", RUN_NBGRADER, "autograde", assignment, "--force", "--log-level=ERROR", *settings]
    runs = [
        subprocess.Popen(
            [*command, f"--CourseDirectory.submitted_directory={READABLE}/{share.name}"],
            cwd=course, env=_environment(),
        )
        for share in sorted((course / READABLE).glob("*"))
        if any(share.iterdir())
    ]  # fmt: skip
    try:
        return max((run.wait() for run in runs), default=0)
    except KeyboardInterrupt:
        for run in runs:  # Ctrl+C reaches each of them too, and they remove what is half graded
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(5)
            if run.poll() is None:  # the signal came to this process alone
                run.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(15)
            run.kill()
        raise KeyboardInterrupt("what was graded before is kept; the same command grades the rest") from None


def _environment() -> dict[str, str]:
    # nbgrader runs in the course's folder, from where this package may not be importable without PYTHONPATH.
    package = str(Path(__file__).parents[3])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": f"ignore:{SQLALCHEMY_WARNING}"}


def _reasons(course: Path, assignment: str, one: CollectedSubmission) -> list[str]:
    # What is unusual about a submission, and why answers in it were not graded; each once.
    path = course / AUTOGRADED / one.student / assignment / VERDICTS
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    whys = [why for _, is_not, why in (line.partition(f": {nbgrader_settings.NO_POINTS}") for line in lines) if is_not]
    return list(dict.fromkeys([*one.notes, *whys]))


def _summary(found: list[export_marks.Mark], reasons: dict[str, list[str]] | None = None) -> str:
    states = [one.state for one in found]
    kinds = (export_marks.GRADED, export_marks.NOT_GRADED, export_marks.MISSING)
    lines = [", ".join(f"{states.count(kind)} {kind}" for kind in kinds)]
    for one in found:
        if one.state == export_marks.NOT_GRADED:
            who, parts = f"{one.student['id']}, {one.assignment}", ", ".join(one.not_graded)
            lines.append(f"  not graded: {who}: {parts} ({one.so_far:g} points from the others)")
            lines += [f"    {reason}" for reason in (reasons or {}).get(one.student["id"], [])]
    if late := [f"{one.student['id']} ({one.late})" for one in found if one.late]:
        lines.append(f"  late: {', '.join(late)}")
    if missing := [one.student["id"] for one in found if one.state == export_marks.MISSING]:
        lines.append(f"  missing: {', '.join(missing)}")
    return "\n".join(lines)


def _report(course: Path, assignment: str, found: list[export_marks.Mark], handed_in: list[CollectedSubmission]) -> str:
    notes = {one.student: one.notes for one in handed_in}
    parts = [f"{assignment}: {_summary(found)}"]
    for one in found:
        points = {export_marks.GRADED: f"{one.so_far:g} of {one.most:g} points"}.get(one.state, one.state)
        student = one.student["id"]
        name = " ".join(filter(None, (one.student["first_name"], one.student["last_name"])))
        lines = [f"== {student}{f' ({name})' if name else ''}: {points}"]
        lines += [f"- handed in {one.late} late"] if one.late else []
        lines += [f"- {note}" for note in notes.get(student, [])]
        verdicts = course / AUTOGRADED / student / assignment / VERDICTS
        if verdicts.is_file() and one.raw is not None:
            lines.append(verdicts.read_text(encoding="utf-8").rstrip())
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"
