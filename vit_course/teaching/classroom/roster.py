"""Imports a class list into nbgrader's gradebook: from Moodle or Canvas, or with nbgrader's own columns."""

import csv
import re
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry

# The names of columns, in lower case: Moodle's participants and grades, Canvas's gradebook, nbgrader's own.
IDS = ("student_id", "sis login id", "sis user id", "username", "id number", "idnumber", "email address", "email")
FIRST = ("first_name", "first name", "firstname")
LAST = ("last_name", "last name", "lastname", "surname")
EMAIL = ("email", "email address")
MOST_BYTES = 10 * 2**20
LMS = ("lms_user_id", "id number", "idnumber")


def read_roster(path: Path, id_column: str | None = None) -> list[dict[str, str]]:
    """Reads a class list: for each learner "id", "first_name", "last_name", "email", "lms_user_id"; "" where unknown.

    Args:
        path: a CSV file with a line of headings, separated by commas, semicolons or tabs.
        id_column: the heading of the column to use as nbgrader's student id, which also names the submission's folder.

    Raises:
        ValueError: the file is not a class list, an id cannot be the name of a folder, or an id occurs twice.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)  # not all of it: it may be a device without an end
    if len(data) > MOST_BYTES:
        raise ValueError(f"{path} has more than {MOST_BYTES >> 20} MB, so it is no class list")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not in UTF-8: save it as CSV UTF-8") from None
    first = text.partition("\n")[0]
    try:
        rows = list(csv.reader(text.splitlines(), delimiter=max(",;\t", key=first.count)))
    except csv.Error as error:
        raise ValueError(f"{path} is not a CSV file: {error}") from None
    if not rows:
        raise ValueError(f"{path} is empty, but a line of headings is needed")
    headings = [heading.strip().lower() for heading in rows[0]]
    of_canvas = headings[:2] == ["student", "id"]
    chosen = _id_column(path, rows[0], headings, of_canvas, id_column)
    found, lines = [], {}
    for line, row in enumerate(rows[1:], 2):
        values = dict(zip(headings, (value.strip() for value in row), strict=False))
        if not any(values.values()) or (of_canvas and _is_no_learner(values)):
            continue
        one = _learner(values, of_canvas) | {"id": values.get(chosen, "")}
        if not _is_folder_name(one["id"]):
            raise ValueError(
                f"line {line} of {path}: {one['id'][:80]!r} in column {chosen!r} cannot be a folder's name"
            )
        same = one["id"].casefold()  # on a file system that ignores case, they would share a folder
        if same in lines:
            raise ValueError(f"lines {lines[same]} and {line} of {path} have the same {chosen!r}: {one['id']}")
        lines[same] = line
        found.append(one)
    if not found:
        raise ValueError(f"{path} has headings ({', '.join(rows[0])}) and no learners below them")
    return found


def _is_folder_name(name: str) -> bool:
    # Whether the name is valid for a folder on every system, and cannot be taken for a command-line option.
    if not re.fullmatch(r"[\w@+][\w@+. -]{0,99}", name) or name.endswith((" ", ".")):
        return False
    return not re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", name, re.IGNORECASE)


def import_roster(gradebook: Gradebook, learners: list[dict[str, str]]) -> tuple[int, int]:
    """Adds new learners, updates known ones and removes nobody; returns (number of new ones, number of known ones).

    A field that is "" in the list keeps its value in the gradebook.
    """
    new = 0
    for learner in learners:
        try:
            gradebook.find_student(learner["id"])
        except MissingEntry:
            new += 1
        known = {name: value for name, value in learner.items() if name != "id" and value}
        gradebook.update_or_create_student(learner["id"], **known)
    return new, len(learners) - new


def _id_column(path: Path, written: list[str], headings: list[str], of_canvas: bool, wanted: str | None) -> str:
    if wanted is not None:
        if wanted.strip().lower() not in headings:
            raise ValueError(f"{path} has no column {wanted!r}; it has {', '.join(written)}")
        return wanted.strip().lower()
    # A column "ID" holds nbgrader's student id, but in a list of Canvas an internal number.
    found = [name for name in (*(() if of_canvas else ("id",)), *IDS) if name in headings]
    if not found:
        raise ValueError(f"{path} has no column that names learners; it has {', '.join(written)}: add --id-column")
    return found[0]


def _learner(values: dict[str, str], of_canvas: bool) -> dict[str, str]:
    def first(names) -> str:
        return next((values[name] for name in names if values.get(name)), "")

    one = {"first_name": first(FIRST), "last_name": first(LAST), "email": first(EMAIL), "lms_user_id": first(LMS)}
    if of_canvas:
        last, _, rest = values.get("student", "").partition(",")
        one |= {"last_name": last.strip(), "first_name": rest.strip(), "lms_user_id": values.get("id", "")}
    return one


def _is_no_learner(values: dict[str, str]) -> bool:
    # Rows of Canvas that are no learners: the points possible, and the test student.
    return "points possible" in values["student"].lower() or values["student"] == "Student, Test"
