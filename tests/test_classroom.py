"""A class from the list of its learners to its marks, by the commands of the teacher's guide, on real nbgrader."""

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
from class_of_forty import OUTSIDE, TOKEN, UNLISTED, submissions
from conftest import ROOT
from small_class import ALL, ASSIGNMENT, POINTS, Submission, cell_of, chapters, exercise

from vit_course.__main__ import main
from vit_course.checks import EXERCISES
from vit_course.teaching.classroom import export_marks, workflow
from vit_course.teaching.classroom.collect import AUTOGRADED, CollectedSubmission
from vit_course.teaching.classroom.course import make_course
from vit_course.teaching.classroom.exercises import exercises_of
from vit_course.teaching.classroom.grade_submission import Verdict
from vit_course.teaching.classroom.grading_cell import VERDICTS, GradingCell
from vit_course.teaching.classroom.isolation import choose
from vit_course.teaching.classroom.nbgrader_settings import FeedbackPage, as_text
from vit_course.teaching.classroom.sandbox import NOT_PROTECTED

NEED_A_SANDBOX = ("steals", "reads_proc", "fills", "bomb")
LIMITS = "--unprotected --jobs 2 --memory 2 --processes 150 --cell-seconds 20"


@dataclass
class Class:
    """What the commands left and said."""

    folder: Path
    handed_in: dict[str, Submission]
    exit_code: int
    said: str
    warned: str

    def notebook(self, step: str, student: str = ""):
        """An assignment's notebook of one of nbgrader's folders."""
        return nbformat.read(self.folder / step / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb", 4)

    def marks(self, name: str, column: str = "student_id") -> dict[str, dict[str, str]]:
        """The rows of an exported file by the names of the learners."""
        with (self.folder / name).open() as file:
            return {row[column]: row for row in csv.DictReader(file)}

    @property
    def seeds(self) -> list[str]:
        """Of the hidden tests."""
        found = re.findall(r"for seed in \[(\d+), (\d+)\]", "\n".join(c.source for c in self.notebook("source").cells))
        assert len(found) == sum(EXERCISES[name].draws for name in POINTS)
        assert all(len(seed) == 10 for pair in found for seed in pair), "shorter numbers stand in pages by chance"
        return [seed for pair in found for seed in pair]


def run(command: str, folder: Path) -> subprocess.CompletedProcess:
    """A line of the guide, for the small chapter."""
    command = re.sub(r"\b(?=nbgrader )", "python -m ", command.replace("04_attention", ASSIGNMENT))
    # By the path of this Python: its programs need not be on the PATH, the course's commands find them.
    command = re.sub(r"\bpython -m", lambda _: f'"{sys.executable}" -m', command)
    environment = {**os.environ, "TEACHERS_TOKEN": TOKEN}
    return subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, env=environment)


def commands(step: str) -> list[str]:
    """What the guide says to type."""
    guide = (ROOT / "res" / "teachers_guide.md").read_text(encoding="utf-8")
    return re.search(rf"<!-- class: {step} -->\n```bash\n(.*?)\n```", guide, re.DOTALL)[1].splitlines()


@pytest.fixture(scope="module")
def course(tmp_path_factory, thorough):
    """The whole course of events, once, as the guide says."""
    place = tmp_path_factory.mktemp("class")
    folder = place / "course"
    (Path.home() / OUTSIDE).unlink(missing_ok=True)  # of a run in which the guard failed
    handed_in = {name: one for name, one in submissions(folder).items() if thorough or one.daily}
    if choose(unprotected=True).name == "no isolation":
        # They would: nothing keeps them from the course's settings, the environment and the disk, or counts them.
        handed_in = {name: one for name, one in handed_in.items() if name not in NEED_A_SANDBOX}
    make, *others = commands("set up")
    assert make == "python -m vit_course classroom make course"
    assert make_course(chapters(place), folder) == [ASSIGNMENT]
    people = [
        f"{name.title()},Learner,{name},{name}@example.org" for name in [*handed_in, "absent"] if name != UNLISTED
    ]
    (place / "participants.csv").write_text("\n".join(["First name,Last name,Username,Email address", *people]))
    for command in others:
        done = run(command, place)
        assert done.returncode == 0, done.stderr
    for student, one in handed_in.items():
        one.hand_in(folder / "submitted", student, folder / "release" / ASSIGNMENT)
    grade, *others = commands("grade")
    graded = run(f"{grade} {LIMITS}", place)
    print(graded.stdout, graded.stderr)
    for command in [*others, "python -m vit_course classroom export course --unlisted"]:
        done = run(command, place)
        assert done.returncode == 0, done.stderr
    return Class(folder, handed_in, graded.returncode, graded.stdout, graded.stderr)


def test_every_mark_is_as_expected_and_the_report_says_what_was_not_as_it_should_be(course):
    rows, text = course.marks("table.csv"), (course.folder / "reports" / f"{ASSIGNMENT}.txt").read_text()
    parts = {part.split(" ")[0].rstrip(":"): part for part in re.split(r"^== ", text, flags=re.MULTILINE)}
    for student, expected in course.handed_in.items():
        row = rows[student]
        assert row["state"] == expected.state and float(row["raw_score"]) == expected.points, parts[student]
        mark = str(expected.points) if expected.state == "graded" else ""
        assert (row["score"], float(row["max_score"])) == (mark, ALL)
        assert [words for words in expected.says if words not in parts[student]] == [], parts[student]


def test_nothing_ends_the_class_and_the_teacher_is_told(course):
    assert course.exit_code == 1 and "Traceback" not in course.warned
    without = {name: one.says for name, one in course.handed_in.items() if one.state == "not graded"}
    for student, says in without.items():
        reason = re.search(rf"not graded: {student}, {ASSIGNMENT}: .*\n    .*", course.said).group()
        assert any(words in reason for words in says)
    assert f"{len(course.handed_in) - len(without)} graded, {len(without)} not graded, 1 missing" in course.said
    place = course.folder / "submitted" / "no_json" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    assert place.read_text() == "see my mail", "what was handed in stays as it was"


def test_the_summary_says_why_an_answer_was_not_graded(tmp_path):
    (place := tmp_path / AUTOGRADED / "ann" / ASSIGNMENT).mkdir(parents=True)
    verdicts = [Verdict(GradingCell(name, "f", (), 2.0), (), why := "the time had run out") for name in POINTS]
    (place / VERDICTS).write_text(as_text(verdicts, ["taken as 04_small.ipynb"]))
    assert workflow._reasons(tmp_path, ASSIGNMENT, CollectedSubmission("ann", ["renamed"])) == ["renamed", why]


def test_what_the_system_does_not_protect_is_said(course):
    way = choose(unprotected=True)
    assert f"grading with {way.name}" in course.said
    assert (NOT_PROTECTED in course.said) == (way.name == "no isolation")
    if way.name == "no isolation":
        return
    outputs = [output for cell in course.notebook("autograded", "steals").cells for output in cell.get("outputs", [])]
    text = "".join(output.get("text", "") for output in outputs)
    assert "FileNotFoundError" in text or "PermissionError" in text
    assert "read " not in text
    assert not (Path.home() / OUTSIDE).exists(), "its own home is its own"
    assert "configure" in (course.folder / "nbgrader_config.py").read_text()


def test_zero_not_graded_and_missing_are_three_things(course, capsys):
    rows = course.marks("table.csv")
    assert [rows[name]["score"] for name in ("untouched", "no_json", "absent")] == ["0.0", "", ""]
    assert [rows[name]["state"] for name in ("untouched", "no_json", "absent")] == ["graded", "not graded", "missing"]
    columns = {"moodle": ("ID number", "-"), "canvas": ("SIS Login ID", "")}
    for form, (column, none) in columns.items():
        for options, missing in (([], none), (["--missing-is-zero"], "0")):
            assert main(["classroom", "export", str(course.folder), "--form", form, "--force", *options]) == 0
            found = course.marks(f"{form}.csv", column)
            marks = [found[name][ASSIGNMENT] for name in ("all_right", "untouched", "no_json", "absent")]
            assert marks == ["14", "0", none, missing], form
    out = capsys.readouterr().out
    assert out.count("not graded: no_json") == out.count(f"not in the class list: {UNLISTED} (left out") == 4
    written = {form: (course.folder / f"{form}.csv").read_text() for form in columns}
    assert written["moodle"].startswith(f"First name,Last name,ID number,Email address,{ASSIGNMENT}\n")
    assert "\nHalf,Learner,half,half@example.org,12\n" in written["moodle"]
    assert written["canvas"].startswith(f"Student,ID,SIS Login ID,Section,{ASSIGNMENT}\nPoints Possible,,,,14\n")
    assert '\n"Learner, Half",,half,,12\n' in written["canvas"]
    assert UNLISTED in rows and not any(UNLISTED in text for text in written.values())
    exported = run("nbgrader export --to again.csv", course.folder)
    assert exported.returncode == 0, exported.stderr
    assert (course.folder / "again.csv").read_text() == (course.folder / "table.csv").read_text()


def test_feedback_for_everybody_without_a_hidden_test(course):
    assert {path.name for path in (course.folder / "feedback").iterdir()} == {*course.handed_in}
    page = (course.folder / "feedback" / "no_json" / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text()
    assert "This could not be graded" in page and "not a notebook" in page
    for student in (name for name, one in course.handed_in.items() if one.state == "graded" or name == "torn"):
        page = (course.folder / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text()
        text = (course.folder / "feedback" / student / ASSIGNMENT / "verdicts.txt").read_text()
        assert TOKEN not in page + text
        assert "HIDDEN" not in page and not any(seed in page + text for seed in course.seeds)
        assert all(name in page and f"{name}: " in text for name in POINTS)
        assert student != "copied" or "What was handed in was repaired" in page
        assert student not in ("all_wrong", "steals") or "name: mean-of-means" in text
        # What a page may load or run, and what a submission has put there.
        assert page.count("default-src 'none'; img-src data:") == 1
        for bad in ("<script>document.title", "<script>alert", "<style>body {", "onerror=alert(1)>"):
            assert bad not in page, (student, bad)


def test_the_release_holds_no_solution_and_no_hidden_test(course):
    released = course.notebook("release")
    text = "\n".join(cell.source for cell in released.cells)
    assert "SOLUTION" not in text and "HIDDEN" not in text and "<summary>Solution" not in text
    assert text.count("<summary>Hint 3</summary>") == len(POINTS)
    assert not any(seed in text for seed in course.seeds)
    for name, points in POINTS.items():
        assert cell_of(released, name, answer=True).source == exercise(name)[1].stub_code
        assert cell_of(released, name).metadata.nbgrader.points == points


@pytest.mark.thorough
def test_what_cannot_be_read_any_more_keeps_no_old_mark_and_nbgrader_alone_grades_nothing(course):
    place = course.folder / "submitted" / "half" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    before = place.read_text()
    alone = run("nbgrader autograde 04_attention --student half --force", course.folder)
    assert alone.returncode and "grade with `python -m vit_course classroom grade`" in alone.stderr
    place.write_text("see my mail")
    again = run("python -m vit_course classroom grade . 04_attention --unprotected --student half", course.folder)
    assert "half: NOT GRADED" in again.stdout and "0 graded, 1 not graded, 0 missing" in again.stdout
    assert not (course.folder / "feedback" / "half" / ASSIGNMENT).exists()
    assert "This could not be graded" in course.notebook("autograded", "half").cells[0].source
    place.write_text(before)
    with workflow.gradebook_of(course.folder) as gradebook:  # a mark by hand, as in nbgrader's own page
        gradebook.find_grade("further-share", ASSIGNMENT, ASSIGNMENT, "half").manual_score = 0.5
        gradebook.db.commit()
    again = run("python -m vit_course classroom grade . 04_attention --unprotected --student half", course.folder)
    assert "1 graded, 0 not graded" in again.stdout and "half: 12 of 14 points" in again.stdout
    with workflow.gradebook_of(course.folder) as gradebook:
        grade = gradebook.find_grade("further-share", ASSIGNMENT, ASSIGNMENT, "half")
        (mark,) = export_marks.marks(gradebook, students=["half"])
        assert mark.points == 12 - grade.auto_score + 0.5 and grade.needs_manual_grade


def test_what_is_no_longer_in_the_gradebook_or_beside_it_is_graded_again_and_nothing_else(course):
    with workflow.gradebook_of(course.folder) as gradebook:  # as in a copy of last week
        gradebook.remove_submission(ASSIGNMENT, "half")
    (course.folder / "autograded" / "all_right" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").unlink()
    command = "python -m vit_course classroom grade . 04_attention --unprotected --student half all_right untouched"
    again = run(command, course.folder)
    assert re.findall(r"(\w+): \d+ of 14 points, graded", again.stdout) == ["all_right", "half"], again
    third = run(command, course.folder)
    assert "3 graded, 0 not graded" in third.stdout and "graded in" not in third.stdout and not third.stderr, third


def test_releasing_makes_no_folder_that_others_can_write_to(course):
    released = run("nbgrader release_assignment 04_attention", course.folder)
    assert released.returncode == 0, released.stderr
    assert list(course.folder.glob(f"exchange/course/outbound/{ASSIGNMENT}/{ASSIGNMENT}.ipynb"))
    assert stat.S_IMODE(course.folder.stat().st_mode) == 0o700


# ---- the command


@pytest.mark.slow
def test_all_chapters_become_assignments(tmp_path, capsys):
    assert main(["classroom", "make", str(tmp_path / "course")]) == 0
    names = sorted(path.name for path in (tmp_path / "course" / "source").iterdir())
    assert names == sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    printed, brought = capsys.readouterr().out, 0
    for name in names:
        assert name in printed
        notebook = nbformat.read(tmp_path / "course" / "source" / name / f"{name}.ipynb", 4)
        graded = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
        assert len(graded) == len(exercises_of(nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", 4)))
        assert all(cell.source.endswith("* report.score") for cell in graded)
        for link in re.findall(r"\]\((res/[^)#]+\.\w+)\)", "\n".join(cell.source for cell in notebook.cells)):
            assert (tmp_path / "course" / "source" / name / link).is_file(), link
            brought += 1
    assert brought > len(names)


def test_what_is_there_is_left_alone(tmp_path):
    (tmp_path / "gradebook.db").write_text("precious")
    (tmp_path / "nbgrader_config.py").write_text("# mine")
    assert main(["classroom", "make", str(tmp_path), "--overwrite", "--chapters", "04"]) == 0
    assert (tmp_path / "gradebook.db").read_text() == "precious"
    assert (tmp_path / "nbgrader_config.py").read_text() == "# mine"


def test_a_file_in_the_folders_place(tmp_path, capsys):
    (tmp_path / "file").write_text("x")
    assert main(["classroom", "make", str(tmp_path / "file")]) == 2
    assert "is a file" in capsys.readouterr().err


def test_an_exercise_without_its_parts_is_named_and_no_half_course_is_left(tmp_path):
    notebook = nbformat.read(ROOT / "notebooks" / "04_attention.ipynb", 4)
    text = notebook.cells[exercises_of(notebook)[0].text]
    text.source = text.source.replace("<summary>Solution", "<summary>Answer")
    (tmp_path / "notebooks").mkdir()
    nbformat.write(notebook, tmp_path / "notebooks" / "04_attention.ipynb")
    with pytest.raises(ValueError, match=r"attention\.weights: no folded solution"):
        make_course(tmp_path / "notebooks", tmp_path / "course")
    assert not (tmp_path / "course").exists()


def test_a_damaged_gradebook_and_settings_that_fail_are_named(tmp_path, capsys):
    assert main(["classroom", "make", str(tmp_path / "course"), "--chapters", "04"]) == 0
    course = tmp_path / "course"
    (course / "gradebook.db").write_bytes(b"no database" * 500)
    assert main(["classroom", "export", str(course)]) == 2
    assert "gradebook.db cannot be read: " in capsys.readouterr().err
    (course / "nbgrader_config.py").write_text("1 / 0")
    assert main(["classroom", "export", str(course)]) == 2
    assert "nbgrader_config.py cannot be run: ZeroDivisionError" in capsys.readouterr().err


def test_a_page_of_feedback_keeps_text_and_drops_what_acts():
    texts = ["# Title\n\n<details><summary>Hint</summary>\n\nlook\n\n</details>", "![gone](attachment:gone.png)"]
    texts += ["<script>alert(2)</script><style>body {color: white}</style><img src=x onerror=alert(1)>"]
    page, _ = FeedbackPage().from_notebook_node(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text) for text in texts])
    )
    body = page[page.index("<body") :]
    assert "Title" in body and "<summary>Hint</summary>" in body and "![gone]" in body
    assert not any(bad in body for bad in ("<script>alert", "<style>body {", "<img src=x onerror"))
    assert "default-src 'none'" in page[: page.index("<title")]
