"""A class from the list of its learners to its marks, by the commands of the teacher's guide."""

import csv
import os
import re
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT, cases
from small_class import ALL, ASSIGNMENT, POINTS, chapters
from small_submissions import submissions

from vit_course import classroom
from vit_course.__main__ import main
from vit_course.checks import EXERCISES
from vit_course.classroom.isolation import choose

pytestmark = pytest.mark.thorough

HANDED_IN = submissions(Path("course"))
LIMITS = "--jobs 2 --memory 2 --processes 150 --cell-seconds 20"


@dataclass
class Class:
    """What the commands left and said."""

    folder: Path
    exit_code: int
    said: str
    warned: str


def run(command: str, folder: Path) -> subprocess.CompletedProcess:
    """A line of the guide, for the small chapter."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    command = command.replace("04_attention", ASSIGNMENT)
    return subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)


def commands(step: str) -> list[str]:
    """What the guide says to type."""
    guide = (ROOT / "res" / "teachers_guide.md").read_text(encoding="utf-8")
    return re.search(rf"<!-- class: {step} -->\n```bash\n(.*?)\n```", guide, re.DOTALL)[1].splitlines()


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The whole course of events, once, as the guide says."""
    place = tmp_path_factory.mktemp("class")
    folder = place / "course"
    make, *others = commands("set up")
    assert make == "python -m vit_course classroom make course"
    assert classroom.make_course(chapters(place), folder) == [ASSIGNMENT]
    people = [f"{name.title()},Learner,{name},{name}@example.org" for name in [*HANDED_IN, "absent"]]
    (place / "participants.csv").write_text("\n".join(["First name,Last name,Username,Email address", *people]))
    for command in others:
        done = run(command, place)
        assert done.returncode == 0, done.stderr
    for student, one in submissions(folder).items():
        one.hand_in(folder / "submitted", student, folder / "release" / ASSIGNMENT)
    grade, *others = commands("grade")
    graded = run(f"{grade} {LIMITS}", place)
    print(graded.stdout, graded.stderr)
    for command in [*others, "python -m vit_course classroom export course"]:
        done = run(command, place)
        assert done.returncode == 0, done.stderr
    return Class(folder, graded.returncode, graded.stdout, graded.stderr)


def table(course: Class) -> dict[str, dict[str, str]]:
    with (course.folder / "table.csv").open() as file:
        return {row["student_id"]: row for row in csv.DictReader(file)}


def part_of_report(course: Class, student: str) -> str:
    text = (course.folder / "reports" / f"{ASSIGNMENT}.txt").read_text()
    return next(part for part in re.split(r"^== ", text, flags=re.MULTILINE) if part.startswith(f"{student} "))


@cases("student", HANDED_IN)
def test_every_mark_is_as_expected(course, student):
    row, expected = table(course)[student], HANDED_IN[student]
    assert row["state"] == expected.state, part_of_report(course, student)
    assert float(row["raw_score"]) == expected.points, part_of_report(course, student)
    assert row["score"] == (str(expected.points) if expected.state == "graded" else "")
    assert float(row["max_score"]) == ALL


@cases("student", [name for name, one in HANDED_IN.items() if one.says])
def test_the_report_says_what_was_not_as_it_should_be(course, student):
    for words in HANDED_IN[student].says:
        assert words in part_of_report(course, student)


def test_nothing_ends_the_class_and_the_teacher_is_told(course):
    assert course.exit_code == 1 and "Traceback" not in course.warned
    without = [name for name, one in HANDED_IN.items() if one.state == "not graded"]
    for student in without:
        assert re.search(rf"not graded: {student}, {ASSIGNMENT}: ", course.said)
    assert f"{len(HANDED_IN) - len(without)} graded, {len(without)} not graded, 1 missing" in course.said


def test_what_the_system_does_not_protect_is_said(course):
    lacks = choose()[1]
    assert course.warned.count("NOT PROTECTED") == 2 * len(lacks), "of each of the two jobs"
    notebook = course.folder / "autograded" / "steals" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    outputs = [output for cell in nbformat.read(notebook, 4).cells for output in cell.get("outputs", [])]
    text = "".join(output.get("text", "") for output in outputs)
    assert "FileNotFoundError" in text or "PermissionError" in text
    assert "read " not in text or any("it can read" in words for words in lacks)


def test_zero_not_graded_and_missing_are_three_things(course, capsys):
    rows = table(course)
    assert [rows[name]["score"] for name in ("untouched", "no_json", "absent")] == ["0.0", "", ""]
    assert [rows[name]["state"] for name in ("untouched", "no_json", "absent")] == ["graded", "not graded", "missing"]
    assert rows["torn"]["not_graded"] == "attention-unnoticed class_token-padded"
    cells = {"moodle": ("14", "0", "-", "-"), "canvas": ("14", "0", "", "")}
    for form, expected in cells.items():
        for options, missing in (([], expected[3]), (["--missing-is-zero"], "0")):
            assert main(["classroom", "export", str(course.folder), "--form", form, *options]) == 0
            marks = marks_in(course.folder / f"{form}.csv")
            found = [marks[name] for name in ("all_right", "untouched", "no_json", "absent")]
            assert found == [*expected[:3], missing], form
    assert capsys.readouterr().out.count("not graded: torn") == 4
    exported = run("nbgrader export --to again.csv", course.folder)
    assert (
        exported.returncode == 0
        and (course.folder / "again.csv").read_text() == (course.folder / "table.csv").read_text()
    ), exported.stderr


def marks_in(path: Path) -> dict[str, str]:
    with path.open() as file:
        rows = list(csv.DictReader(file))
    names = [row.get("ID number") or row.get("SIS Login ID") for row in rows]
    return dict(zip(names, [row[ASSIGNMENT] for row in rows], strict=True))


def test_feedback_for_everybody_who_was_graded(course):
    graded = {name for name, one in HANDED_IN.items() if one.state == "graded" or name == "torn"}
    assert {path.name for path in (course.folder / "feedback").iterdir()} == graded
    seeds = re.findall(r"\d{10}", (course.folder / "source" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_text())
    assert len(seeds) == 2 * sum(EXERCISES[name].draws for name in POINTS)
    for student in graded:
        page = (course.folder / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text()
        text = (course.folder / "feedback" / student / ASSIGNMENT / "verdicts.txt").read_text()
        assert not any(seed in page + text for seed in seeds)
        assert all(f"{name}: " in text for name in POINTS)
    assert (
        "What was handed in was mended"
        in (course.folder / "feedback" / "copied" / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text()
    )


def test_what_learners_handed_in_stays_as_it_was(course):
    assert (course.folder / "submitted" / "no_json" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_text() == "see my mail"
    assert (course.folder / "submitted" / ASSIGNMENT / "exchanged").is_dir()


def test_releasing_makes_no_folder_that_others_can_write_to(course):
    released = run("nbgrader release_assignment 04_attention", course.folder)
    assert released.returncode == 0, released.stderr
    assert list(course.folder.glob(f"exchange/course/outbound/{ASSIGNMENT}/{ASSIGNMENT}.ipynb"))
    assert stat.S_IMODE(course.folder.stat().st_mode) == 0o700
