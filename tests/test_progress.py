"""The learner's progress: one small file that survives restarts, crashes and damage."""

import json
import subprocess
import sys

import answers
import pytest

from vit_course import checks
from vit_course.checks import scores
from vit_course.checks.exercise import EXERCISES

answers.load()
RIGHT = answers.RIGHT["attention.weights"][0][0]
WRONG = answers.WRONG["attention.weights"][0][0]


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "home" / "progress.json"
    monkeypatch.setenv("VIT_COURSE_PROGRESS", str(path))
    return path


def row(chapter):
    return next(line for line in checks.progress().splitlines() if line.startswith(chapter))


def test_a_pass_is_kept_and_a_later_failure_does_not_take_it_away(file):
    assert "[ ] weights" in row("attention")
    checks.attention.weights(WRONG)
    assert "[ ] weights" in row("attention")
    checks.attention.weights(RIGHT)
    assert "[x] weights" in row("attention") and "1 of " in row("attention")
    checks.attention.weights(WRONG)
    assert "[x] weights" in row("attention")
    assert f"1 of {len(EXERCISES)} exercises passed" in checks.progress()


def test_part_of_an_exercise_has_a_mark_of_its_own(file):
    words = answers.RIGHT["attention.unnoticed"][0][0]() | {"traded": "other"}
    checks.attention.unnoticed(lambda: words)
    assert "[/] unnoticed" in row("attention") and "0 of " in row("attention")


def test_a_stub_leaves_no_trace(file):
    def stub(q, k, keep):
        raise NotImplementedError

    checks.attention.weights(stub)
    assert not file.exists()


@pytest.mark.slow
def test_it_survives_a_restart(file):
    checks.attention.weights(RIGHT)
    code = "from vit_course import checks; print(checks.progress())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[x] weights" in done.stdout


@pytest.mark.parametrize("content", ["", "{", "[]", '{"best": 3}', '{"best": {"attention.weights": "much"}}', "\x00"])
def test_a_damaged_file_is_ignored_with_a_message_and_kept(file, content):
    file.parent.mkdir()
    file.write_text(content)
    assert "cannot be read and is ignored" in checks.progress() and "0 of" in checks.progress()
    report = checks.attention.weights(RIGHT)
    assert report.status == "passed" and "progress file was damaged" in report.text
    assert file.with_suffix(".damaged").read_text() == content
    assert "[x] weights" in row("attention") and "ignored" not in checks.progress()


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
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_unknown_exercises_in_the_file_stay_there(file):
    file.parent.mkdir()
    file.write_text(json.dumps({"best": {"later.chapter": 1.0}}))
    checks.attention.weights(RIGHT)
    assert json.loads(file.read_text())["best"] == {"later.chapter": 1.0, "attention.weights": 1.0}


def test_nothing_is_kept_while_somebody_grades(file, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    checks.attention.weights(RIGHT)
    assert scores.path() is None and not file.exists()


def test_by_default_it_lies_in_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("VIT_COURSE_PROGRESS")
    monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path)
    assert scores.path() == tmp_path / ".vit_course" / "progress.json"
