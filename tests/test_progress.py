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

RIGHT = answers.of("attention.weights").rights[0]
WRONG = answers.of("attention.weights").wrongs[0][1]

NOT_OURS = "Your progress was not saved: {} is damaged or not a progress file: rename it or delete it."


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
    words = answers.of("attention.unnoticed").rights[0]() | {"traded": "other"}
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


def test_a_damaged_file_is_left_as_it_is_with_a_message(file):
    file.parent.mkdir()
    for content in DAMAGED:
        file.write_text(content)
        assert "earlier progress cannot be read" in str(checks.progress()) and "0 of" in str(checks.progress())
        assert saved_progress.record("attention.weights", 1.0) == NOT_OURS.format(file)
        assert file.read_text() == content and [*file.parent.iterdir()] == [file]
    report = checks.attention.weights(RIGHT)
    assert report.status == "passed" and NOT_OURS.format(file) in report.text
    file.unlink()
    assert saved_progress.record("attention.weights", 1.0) == "" and "[x] 4.1 weights" in row("04 Attention")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_whatever_else_the_variable_names_is_neither_moved_nor_overwritten(tmp_path, monkeypatch):
    def said(place):
        monkeypatch.setenv("VIT_COURSE_PROGRESS", str(place))
        before = sorted(place.parent.iterdir())
        assert "cannot be read" in str(checks.progress())
        message = saved_progress.record("attention.weights", 1.0)
        assert sorted(place.parent.iterdir()) == before, place
        return message

    thesis, results, pipe, folder = (tmp_path / name for name in ("thesis.json", "results.json", "pipe", "folder"))
    thesis.write_text('{"title": "On attention"}')
    results.write_text(written := '{"best": {"loss": 0.25}, "epochs": 300}')
    os.mkfifo(pipe)
    folder.mkdir()
    for place in (thesis, results, pipe, folder):
        assert said(place) == NOT_OURS.format(place)
    results.write_text(also := '{"best": {"loss": 0.25}}')
    assert said(results) == NOT_OURS.format(results) and results.read_text() == also != written


@pytest.mark.skipif(os.name == "nt", reason="Windows always knows a home folder")
def test_without_a_home_folder_a_right_answer_passes(monkeypatch):
    def unknown(*_):
        raise KeyError("there is no such user")

    monkeypatch.delenv("VIT_COURSE_PROGRESS", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    report = checks.attention.weights(RIGHT)
    assert report.status == "passed"
    assert "Your progress was not saved: Could not determine home directory." in report.text
    assert "earlier progress cannot be read: Could not" in str(checks.progress())


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps the working directory")
def test_without_a_working_directory_a_right_answer_passes(file, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert checks.attention.weights(RIGHT).status == "passed"
    assert "[x] 4.1 weights" in row("04 Attention")


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="these have only names in Unicode")
def test_a_name_that_is_no_utf8_can_be_printed(tmp_path, monkeypatch):
    monkeypatch.setenv("VIT_COURSE_PROGRESS", os.fsdecode(os.fsencode(tmp_path) + b"/\xff/x"))
    (tmp_path / "\udcff").write_text("a file where the folder should be")
    assert saved_progress.record("attention.weights", 1.0).encode()


def test_an_editors_mark_of_its_encoding_is_no_damage(file):
    file.parent.mkdir()
    file.write_bytes(b"\xef\xbb\xbf" + b'{"best": {"attention.weights": 1}}')
    assert "[x] 4.1 weights" in row("04 Attention")


def test_a_file_that_is_read_only_stays_as_it_is(file):
    checks.attention.weights(RIGHT)
    before = file.read_bytes()
    file.chmod(0o444)
    report = checks.attention.mended(answers.of("attention.mended").rights[0])
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
    assert report.status == "passed" and "was not saved" in report.text


def test_it_is_written_whole_or_not_at_all(file, monkeypatch):
    checks.attention.weights(RIGHT)
    before = file.read_bytes()

    def crash(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", crash)
    report = checks.attention.mended(answers.of("attention.mended").rights[0])
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
