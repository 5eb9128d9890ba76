"""The learner's progress: one small file that survives restarts, crashes and damage."""

import json
import os
import subprocess
import sys

import answers
import nbformat
import pytest
from conftest import ROOT, python
from filelock import FileLock

from vit_course import checks
from vit_course.checks import saved_progress
from vit_course.checks.exercise import EXERCISES
from vit_course.checks.progress_table import CHAPTERS

RIGHT = answers.RIGHT["attention.weights"][0][0]
WRONG = answers.WRONG["attention.weights"][0][0]


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "home" / "progress.json"
    monkeypatch.setenv("VIT_COURSE_PROGRESS", str(path))
    return path


def row(chapter):
    return next(line for line in str(checks.progress()).splitlines() if chapter in line)


def test_a_pass_is_kept_and_a_later_failure_does_not_take_it_away(file):
    assert "[ ] 4.1 weights" in row("04 Attention")
    checks.attention.weights(WRONG)
    assert "[ ] 4.1 weights" in row("04 Attention")
    checks.attention.weights(RIGHT)
    assert "[x] 4.1 weights" in row("04 Attention") and "1 of " in row("04 Attention")
    checks.attention.weights(WRONG)
    assert "[x] 4.1 weights" in row("04 Attention")
    assert f"1 of {len(EXERCISES)} exercises passed" in str(checks.progress())


def test_part_of_an_exercise_has_a_mark_of_its_own(file):
    words = answers.RIGHT["attention.unnoticed"][0][0]() | {"traded": "other"}
    checks.attention.unnoticed(lambda: words)
    assert "[/] 4.3 unnoticed" in row("04 Attention") and "0 of " in row("04 Attention")
    assert "Next: Exercise 4.3," in str(checks.progress()), "what was begun"


def test_a_stub_leaves_no_trace(file):
    def stub(q, k, keep):
        raise NotImplementedError

    checks.attention.weights(stub)
    assert not file.exists()


DAMAGED = ["", "{", "[]", "{}", '{"best": 3}', '{"best": {"attention.weights": "much"}}', "\x00", "[" * 100_000,
           '{"best": {"attention.weights": NaN}}', '{"best": {"attention.weights": [[1]]}}']  # fmt: skip


@pytest.mark.slow
def test_a_damaged_file_is_ignored_with_a_message_and_kept_under_a_name_of_its_own(file):
    file.parent.mkdir()
    for number, content in enumerate(DAMAGED, start=1):
        file.write_text(content)
        assert "cannot be read and is ignored" in str(checks.progress()) and "0 of" in str(checks.progress())
        report = checks.attention.weights(RIGHT)
        assert report.status == "passed" and "progress file was damaged" in report.text
        assert file.with_suffix(".damaged" + f"-{number}" * (number > 1)).read_text() == content
        assert "[x] 4.1 weights" in row("04 Attention") and "ignored" not in str(checks.progress())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_its_place_is_damage_and_hangs_nothing(file):
    file.parent.mkdir()
    os.mkfifo(file)
    assert "cannot be read and is ignored" in str(checks.progress())
    assert "progress file was damaged" in checks.attention.weights(RIGHT).text
    assert "[x] 4.1 weights" in row("04 Attention")


def test_an_editors_mark_of_its_encoding_is_no_damage(file):
    file.parent.mkdir()
    file.write_bytes(b"\xef\xbb\xbf" + b'{"best": {"attention.weights": 1}}')
    assert "[x] 4.1 weights" in row("04 Attention")


def test_a_file_that_is_read_only_stays_as_it_is(file):
    checks.attention.weights(RIGHT)
    before = file.read_bytes()
    file.chmod(0o444)
    report = checks.attention.mended(answers.RIGHT["attention.mended"][0][0])
    assert report.status == "passed" and "is read-only" in report.text and file.read_bytes() == before


@pytest.mark.thorough
def test_two_programs_at_once_lose_nothing(file):
    # The score is stored without the check, whose seconds would keep the two apart.
    code = "import sys; from vit_course.checks import saved_progress\n"
    code += "for i in range(100): assert saved_progress.record(f'{sys.argv[1]}.{i}', 1.0) == ''"
    running = [subprocess.Popen([sys.executable, "-c", code, name]) for name in "abc"]
    assert [one.wait(120) for one in running] == [0, 0, 0]
    assert len(json.loads(file.read_text())["best"]) == 300


def test_what_a_killed_program_left_is_removed(file):
    file.parent.mkdir()
    (file.parent / f".{file.name}.{2**22 + 1}").write_text("half")
    checks.attention.weights(RIGHT)
    assert sorted(path.name for path in file.parent.iterdir()) == [".progress.lock", file.name]


@pytest.mark.slow
def test_a_lock_that_is_never_given_back_is_said(file):
    file.parent.mkdir()
    with FileLock(file.with_name(".progress.lock")):
        # The lock is one object for a file in a process: another process is needed to be refused.
        code = "from vit_course.checks import saved_progress as one; one.SECONDS = 0.1; print(one.record('a.b', 1))"
        done = python("-c", code)
    assert "another program has held" in done.stdout and not file.exists()


def test_a_place_that_cannot_be_written_is_said_and_costs_nothing(file):
    file.parent.write_text("a file where the folder should be")
    report = checks.attention.weights(RIGHT)
    assert report.status == "passed" and "could not be saved" in report.text


def test_it_is_written_whole_or_not_at_all(file, monkeypatch):
    checks.attention.weights(RIGHT)
    before = file.read_bytes()

    def crash(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", crash)
    report = checks.attention.mended(answers.RIGHT["attention.mended"][0][0])
    assert "No space left on device" in report.text and file.read_bytes() == before
    assert sorted(path.name for path in file.parent.iterdir()) == [".progress.lock", file.name]


def test_unknown_exercises_in_the_file_stay_there(file):
    file.parent.mkdir()
    file.write_text(json.dumps({"best": {"later.chapter": 1.0}}))
    checks.attention.weights(RIGHT)
    assert json.loads(file.read_text())["best"] == {"later.chapter": 1.0, "attention.weights": 1.0}


def test_nothing_is_kept_while_somebody_grades_else_it_lies_in_the_home_folder(file, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    checks.attention.weights(RIGHT)
    assert saved_progress.path() is None and not file.exists()
    monkeypatch.delenv("NBGRADER_EXECUTION")
    monkeypatch.delenv("VIT_COURSE_PROGRESS")
    monkeypatch.setattr("pathlib.Path.home", lambda: file.parent)
    assert saved_progress.path() == file.parent / ".vit_course" / "progress.json", "by default"


def test_the_table_in_a_notebook_leads_to_the_chapters_and_says_what_is_next(file):
    notebooks = {path.stem: path for path in (ROOT / "notebooks").glob("*.ipynb")}
    for name, title in CHAPTERS:
        heading = nbformat.read(notebooks.pop(name), 4).cells[0].source.splitlines()[0]
        assert heading.removeprefix("# ").startswith(title)
    assert not notebooks and list(dict.fromkeys(one.chapter for one in EXERCISES.values())) == [*range(len(CHAPTERS))]
    checks.attention.weights(RIGHT)
    table = checks.progress()._repr_mimebundle_()["text/markdown"]
    minutes = sum(one.minutes for one in EXERCISES.values() if one.chapter == 4)
    left = minutes - EXERCISES["attention.weights"].minutes
    assert "[04 Attention](04_attention.ipynb) | 1 of 4 | [x] 4.1 Weights with a mask<br>" in table
    assert f"| {left} min |" in table and "Next: Exercise 0.1, One image or many" in table
