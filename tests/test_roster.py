"""Class lists as Moodle, Canvas and nbgrader write them; what is no class list is refused."""

from pathlib import Path

import pytest

from vit_course.teaching.classroom.roster import read_roster

MOODLE = "First name,Last name,Email address,Groups\nAda,Lovelace,ada@example.org,A\n"
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section\n    Points Possible,,,,\n"
    '"Lovelace, Ada",1234,s77,ada,One\n"Student, Test",9,,,One\n'
)
TABLE = "id;first_name;last_name;email\nada;Ada;Lovelace;ada@example.org\n\n"
ADA = {"id": "ada", "first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.org", "lms_user_id": ""}


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        (MOODLE, None, ADA | {"id": "ada@example.org"}),
        (MOODLE, "First Name", ADA | {"id": "Ada"}),
        (CANVAS, None, ADA | {"email": "", "lms_user_id": "1234"}),
        (TABLE, None, ADA),
        ("\ufeff" + TABLE.replace(";", "\t"), None, ADA),
    ],
)
def test_class_lists(tmp_path, text, column, expected):
    (tmp_path / "list.csv").write_text(text, encoding="utf-8")
    assert read_roster(tmp_path / "list.csv", column) == [expected]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"id,email\n\n", "no learners below them"),
        (b"a,b\n1,2\n", "has no column that names learners; it has a, b"),
        (b"id\nada\nbob\nada\n", "lines 2 and 4"),
        *((b"id\n" + name + b"\n", "cannot be a folder's name") for name in (b"../bob", b"-rf", b"CON", b"a" * 300)),
        (b"id\nB6\nb6\n", "lines 2 and 3"),
        (b"id,email\n,a@example.org\n", "'' in column 'id' cannot"),
        (b"id\nJos\xe9\n", "not in UTF-8"),
        (b"id\n" + b"a" * 200_000, "is not a CSV file: field larger"),
    ],
)
def test_class_lists_that_are_none(tmp_path, data, words):
    (tmp_path / "list.csv").write_bytes(data)
    with pytest.raises(ValueError, match=words):
        read_roster(tmp_path / "list.csv")
    (tmp_path / "list.csv").write_text("id\nada")
    with pytest.raises(ValueError, match="has no column 'nr'"):
        read_roster(tmp_path / "list.csv", "nr")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")
def test_a_class_list_without_an_end_is_refused():
    with pytest.raises(ValueError, match="more than 10 MB, so it is no class list"):
        read_roster(Path("/dev/zero"))
