"""What is handed in, found and put right: files and cells."""

import json
import os
import shutil
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from vit_course.teaching.classroom import find_submission
from vit_course.teaching.classroom.collect import make_readable
from vit_course.teaching.classroom.grading_cell import GradingCell, without_hidden_tests
from vit_course.teaching.classroom.parse_notebook import read_notebook
from vit_course.teaching.classroom.repair import AssignmentCell, repair_cells
from vit_course.teaching.classroom.sandbox import Sandbox

SHARE = GradingCell("further.share", "shares", (1_234_567_890, 1_098_765_432), 4)
STUB = "def shares():\n    raise NotImplementedError"
ANSWER = AssignmentCell("further-share-answer", "code", STUB, "a", False, solution=True)
CHECK = AssignmentCell("further-share", "code", SHARE.source, "b", True, points=4.0)
ESSAY = AssignmentCell("essay", "markdown", "why?", "c", False, points=2.0, solution=True)
COPY = "# a copy of the check further-share"
RIGHT = "def shares():\n    return 1"


CELL = {"cell_type": "code", "source": "a"}
OWN = "shares = torch.ones(3)"  # the chapter's own, as it was handed out


def mended(*cells):
    """-> the sources of the cells, with the name of a check in place of its source, and the notes."""
    notebook = new_notebook(cells=list(cells))
    given = frozenset({OWN, STUB, SHARE.source})
    notes = repair_cells(notebook, [ANSWER, CHECK], given)
    sources = [cell.source for cell in notebook.cells]
    assert repair_cells(notebook, [ANSWER, CHECK], given) == [] and [cell.source for cell in notebook.cells] == sources
    assert all("grade_id" in cell.metadata["nbgrader"] for cell in notebook.cells if "nbgrader" in cell.metadata)
    found = [cell.source if cell.source != SHARE.source else "CHECK" for cell in notebook.cells]
    return found, notes


def marked(source: str, **marks):
    cell = new_code_cell(source)
    cell.metadata["nbgrader"] = nbformat.from_dict(marks)
    return cell


@pytest.mark.parametrize(
    ("cells", "expected", "note"),
    [
        ([ANSWER.cell(RIGHT), CHECK.cell()], [RIGHT, "CHECK"], None),
        ([CHECK.cell(), ANSWER.cell(RIGHT)], [RIGHT, "CHECK"], "came before its answer"),
        # An answer stands before the check already: what comes after it may be anything.
        ([ANSWER.cell(RIGHT), CHECK.cell(), new_code_cell(STUB)], [RIGHT, "CHECK", STUB], None),
        ([ANSWER.cell(STUB), CHECK.cell(), new_code_cell(RIGHT)], [STUB, RIGHT, "CHECK"], "came before its answer"),
        ([ANSWER.cell(STUB), CHECK.cell()], [STUB, "CHECK"], None),
        ([ANSWER.cell(RIGHT)], [RIGHT, "CHECK"], "was missing"),
        ([new_code_cell("x = 1")], ["x = 1", "CHECK"], "was missing"),
        ([], ["CHECK"], "was missing"),
        ([ANSWER.cell(RIGHT), CHECK.cell(), CHECK.cell()], [RIGHT, COPY, "CHECK"], "2 times"),
        ([ANSWER.cell(RIGHT), marked("4.0", grade_id="further-share")], [RIGHT, "CHECK"], "was changed"),
        ([ANSWER.cell(RIGHT), new_code_cell(SHARE.source)], [RIGHT, "CHECK"], "had lost its name"),
        ([marked(RIGHT, grade=True, grade_id={"a": 1}), CHECK.cell()], [RIGHT, "CHECK"], "does not know, {'a': 1}"),
        ([marked(RIGHT, locked=True), CHECK.cell()], [RIGHT, "CHECK"], "does not know, None"),
        ([new_code_cell(OWN), CHECK.cell(), ANSWER.cell(RIGHT)], [OWN, RIGHT, "CHECK"], "came before its answer"),
        ([ANSWER.cell(RIGHT), new_code_cell(OWN), CHECK.cell()], [RIGHT, "CHECK", OWN], "its name was redefined"),
        ([ANSWER.cell(RIGHT + "\n\n" + without_hidden_tests(SHARE.source))], [RIGHT, "CHECK"], "were separated"),
        ([new_code_cell("%time shares = lambda: (1"), CHECK.cell()], ["%time shares = lambda: (1", "CHECK"], None),
    ],
)
def test_a_check_stands_once_after_its_answer(cells, expected, note):
    found, notes = mended(*cells)
    assert found == expected
    assert (note in " ".join(notes)) if note else notes == []


def test_an_answer_that_a_person_reads_is_put_back():
    notebook = new_notebook(cells=[new_markdown_cell("text")])
    assert repair_cells(notebook, [ESSAY]) == ["essay was missing and was put back at the end"]
    assert notebook.cells[-1].metadata["nbgrader"]["grade_id"] == "essay"


@pytest.mark.parametrize(
    ("text", "sources", "words"),
    [
        ('{"cells": [{"cell_type": "code", "source": ["a", "b"]}]}', ["ab"], None),
        ('\ufeff{"cells": [{"cell_type": "raw", "source": "a"}]}', ["a"], None),
        ('{"cells": [{"cell_type": "code", "source": "a"}, {"cell_type": "co', ["a"], "1 cells at its beginning"),
        ('{"cells": [{"cell_type": "code", "source": "a"}, 7, {"source": "b"}]}', ["a"], "2 of 3 cells"),
        ('{"cells": [{"cell_type": "code", "source": "a", "metadata": 3}]}', ["a"], None),
        ('{"cells": [{"cell_type": "markdown", "source": "a", "attachments": 3}]}', ["a"], None),
        ("", None, "not a notebook"),
        ("[" * 10**5, None, "not a notebook"),
        ("[]", None, "not a notebook"),
        ('{"cells": 3}', None, "not a notebook"),
        ("\0\x1b", None, "not a notebook"),
        ('{"nbformat": 3}', None, "not a notebook"),
        (r'{"cells": [{"cell_type": "code", "source": "a\ud800"}]}', ["a?"], None),
        (json.dumps({"cells": [{"cell_type": "code", "source": "a"}] * 1001}), ["a"] * 1000, "the first 1000"),
        (json.dumps({"cells": [{"cell_type": "raw", "source": "a" * 10**6 + "a"}, CELL]}), ["a"], "1 of 2 cells"),
    ],
)
def test_whatever_a_file_holds(tmp_path, text, sources, words):
    path = tmp_path / "a.ipynb"
    path.write_text(text, encoding="utf-8")
    notebook, notes = read_notebook(path)
    assert (notebook and [cell.source for cell in notebook.cells]) == sources
    assert (words in notes[0]) if words else notes == []
    if notebook:
        nbformat.validate(notebook)


def handed_in(tmp_path, **options):
    return make_readable(tmp_path, "14_several_processes", [ANSWER, CHECK], Sandbox(), **options)


def write(path, *cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(new_notebook(cells=list(cells))), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="here a file system takes no such name")
def test_a_folder_whose_name_is_no_utf8_is_read_like_any_other(tmp_path):
    for name in ("ada", os.fsdecode(b"Jos\xe9"), os.fsdecode(b"Jos\xe8")):
        write(
            tmp_path / "submitted" / name / "14_several_processes" / "14_several_processes.ipynb",
            ANSWER.cell(RIGHT),
            CHECK.cell(),
        )
    found = handed_in(tmp_path)
    assert [one.student for one in found] == ["Jos%E8", "Jos%E9", "ada"] and all(one.is_read for one in found)
    assert (tmp_path / "readable" / "0" / "Jos%E9" / "14_several_processes" / "14_several_processes.ipynb").is_file()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="here a file system takes no such name")
def test_a_notebook_whose_name_is_no_utf8_is_found_and_one_that_cannot_be_written_stops_nobody(tmp_path):
    name = os.fsdecode(b"14_several_processes_L\xe9a.ipynb")
    write(tmp_path / "submitted" / "lea" / "14_several_processes" / name, ANSWER.cell(RIGHT), CHECK.cell())
    picture = new_markdown_cell("![](attachment:a)", attachments={"\ud800": {"image/png": "aaaa"}})
    write(tmp_path / "submitted" / "bob" / "14_several_processes" / "14_several_processes.ipynb", picture, CHECK.cell())
    bob, lea = handed_in(tmp_path)
    assert (
        lea.is_read
        and r"14_several_processes_L\udce9a.ipynb; not its place or its name, but it was taken as" in lea.notes[0]
    )
    assert not bob.is_read and "it cannot be read: UnicodeEncodeError" in bob.notes[0]
    assert [path.name for path in (tmp_path / "readable" / "0").iterdir()] == ["lea"]


@pytest.mark.slow
def test_links_and_what_is_not_a_learners_do_not_come_along(tmp_path):
    place = tmp_path / "submitted" / "ada" / "final"
    write(place / "14-Several processes (2).ipynb", new_code_cell(RIGHT))
    (place / "data").mkdir(parents=True)
    (place / "data" / "mine.csv").write_text("1")
    (place / "verdicts.txt").write_text("all right")
    (tmp_path / "secret").write_text("precious")
    (place / "secret").symlink_to(tmp_path / "secret")
    (place / "more").symlink_to(tmp_path)
    (tmp_path / "submitted" / "ada" / "14_several_processes").mkdir()
    (tmp_path / "submitted" / "ada" / "14_several_processes" / "timestamp.txt").write_text("2026-01-01 10:00:00 UTC")
    write(tmp_path / "submitted" / "bob" / "05_encoder" / "05_encoder.ipynb")
    (one,) = handed_in(tmp_path)
    assert one.student == "ada" and "handed in as final/14-Several processes (2).ipynb" in one.notes[0]
    assert any("timestamp.txt says 2026-01-01 10:00:00 UTC: where learners" in note for note in one.notes)
    readable = tmp_path / "readable" / "0" / "ada" / "14_several_processes"
    found = {str(path.relative_to(readable)) for path in (tmp_path / "readable").rglob("*") if path.is_file()}
    assert found == {"data/mine.csv", "timestamp.txt", "14_several_processes.ipynb", "handed_in.sha256"}


OTHER = GradingCell("patchify.count", "count", (), 2).source


def bottomless(place):
    # In steps: a path that is as long as the whole would be too long to write.
    place.mkdir(parents=True)
    there = os.open(place, os.O_RDONLY)
    for _ in range(1400):
        os.mkdir("d", dir_fd=there)
        there, before = os.open("d", os.O_RDONLY, dir_fd=there), there
        os.close(before)
    os.close(there)
    write(place / "14_several_processes.ipynb", new_code_cell(RIGHT))


def no_text(place):
    write(place / "14_several_processes.ipynb", new_code_cell(RIGHT))
    (place / os.fsdecode(b"\xff\xfe.ipynb")).write_text("{}")
    os.mkfifo(place / "pipe.ipynb")


def a_long_line(place):
    write(place / "14_several_processes.ipynb", new_code_cell("from b import b " * 12_500 + "\n" + RIGHT))


def many_outputs(place):
    cell = new_code_cell(RIGHT, outputs=[nbformat.v4.new_output("stream", text="x" * 30_000_000)])
    write(place / "14_several_processes.ipynb", cell)


# What lies in the folder of the assignment, the start of what is said of it, and whether there is an answer to grade.
ODD = {
    "a long line": (a_long_line, "", True),
    "folders without end": (bottomless, "", True),
    "names that are no text": (no_text, "", True),
    "30 MB of outputs": (many_outputs, "", True),
    "an archive": (lambda place: (place.mkdir(parents=True), (place / "all.zip").write_bytes(b"PK")),
                   "no notebook of this assignment, but 14_several_processes/all.zip; unpack it", False),
    "a program": (lambda place: (place.mkdir(parents=True), (place / "mine.py").write_text(RIGHT)),
                  "no notebook of this assignment, but 14_several_processes/mine.py", False),
    "another chapter": (lambda place: write(place / "14_several_processes.ipynb", new_code_cell(OTHER)),
                        "14_several_processes/14_several_processes.ipynb holds exercises of another one: ", False),
}  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="these names and pipes are none there")
@pytest.mark.slow
def test_whatever_is_handed_in_ends_in_an_answer_or_a_sentence(tmp_path):
    for student, (make, _, _) in ODD.items():
        make(tmp_path / "submitted" / student / "14_several_processes")
    try:
        found = {one.student: one for one in handed_in(tmp_path)}
    finally:  # pytest could not: Python's own way goes down by calling itself
        subprocess.run(["rm", "-rf", str(tmp_path / "submitted")], check=True)
    for student, (_, said, is_read) in ODD.items():
        assert found[student].is_read == is_read, (student, found[student].notes)
        assert " ".join(found[student].notes).startswith(said), (student, found[student].notes)
        path = tmp_path / "readable" / "0" / student / "14_several_processes" / "14_several_processes.ipynb"
        assert path.is_file() == is_read
        if is_read:
            assert any(RIGHT in cell.source for cell in nbformat.read(path, 4).cells), student


@pytest.mark.slow
def test_the_notebook_that_was_worked_in_counts(tmp_path):
    place = tmp_path / "submitted" / "ada" / "14_several_processes"
    write(place / "14_several_processes.ipynb", ANSWER.cell(STUB), CHECK.cell())
    write(place / "14_several_processes-Copy1.ipynb", ANSWER.cell(RIGHT), CHECK.cell())
    (one,) = handed_in(tmp_path)
    assert "14_several_processes-Copy1.ipynb was graded, not 14_several_processes.ipynb" in " ".join(one.notes)


def test_names_of_files_and_folders_speak_to_no_terminal(tmp_path):
    name = "\x1b]0;mine\a"
    write(tmp_path / "submitted" / name / "14_several_processes" / f"{name}.ipynb", ANSWER.cell(RIGHT), CHECK.cell())
    (one,) = handed_in(tmp_path)
    assert one.student == "%1B%5D0%3Bmine%07"
    assert one.is_read and r"\x1b]0;mine\x07.ipynb" in one.notes[0] and "\x1b" not in "".join(one.notes)


@pytest.mark.parametrize(
    ("text", "is_time"),
    [
        ("2026-01-01 10:00:00 UTC", True),
        ("2026-01-01 10:00:00.123456 CEST", True),
        ("2026-01-01 10:00:00 +0200", True),
        ("2026-02-30 10:00:00", False),
        ("9999-12-31 23:59:59 UTC", False),
        ("2026-01-01 10:00:00 in the morning", False),
        ("yesterday", False),
    ],
)
def test_what_the_folder_says_of_the_time_is_a_time(text, is_time):
    assert find_submission._is_time(text) == is_time


@pytest.mark.slow
def test_only_other_bytes_are_graded_again(tmp_path):
    place, graded = (
        tmp_path / "submitted" / "ada" / "14_several_processes",
        tmp_path / "autograded" / "ada" / "14_several_processes",
    )
    write(place / "14_several_processes.ipynb", ANSWER.cell(RIGHT), CHECK.cell())
    readable = tmp_path / "readable" / "0" / "ada" / "14_several_processes"
    handed_in(tmp_path)
    shutil.copytree(readable, graded)
    for options, changed, again in (
        ({}, False, True),
        ({"graded": ["ada"]}, False, False),
        ({"graded": ["ada"]}, True, True),
    ):
        if changed:
            (place / "data.csv").write_text("other")
            os.utime(place / "data.csv", (0, 0))
        (one,) = handed_in(tmp_path, **options)
        assert one.is_read and readable.is_dir() == again
