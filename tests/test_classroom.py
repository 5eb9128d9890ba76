"""A class of six on real nbgrader: assignment, submissions, grades, feedback, gradebook."""

import csv
import re
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path

import answers
import nbformat
import pytest
from conftest import ROOT, cases

from vit_course import classroom
from vit_course.__main__ import main
from vit_course.checks import EXERCISES
from vit_course.classroom.grading import VERDICTS

CHAPTER = "04_attention"
NAMES = ["weights", "mended", "unnoticed", "how_many_heads"]
POINTS = {name: EXERCISES[f"attention.{name}"].points for name in NAMES}
FORESEEN = {
    "weights": ("mask-ignored", "def weights(q, k, keep):\n    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)"),
    "mended": ("both-bugs", "mended = faulty"),
    "unnoticed": ("key-constant-other", "def unnoticed():\n    words = 'key_constant query_constant '\n"
                  "    words += 'traded token_copied'\n    others = dict.fromkeys(words.split(), 'other')\n"
                  "    return others | {'keys_doubled': 9, 'value_constant': 'moved'}"),
    "how_many_heads": ("settings-missing", "def how_many_heads():\n"
                       "    return {'seeds': [0, 1, 2], 'errors': {(2, 1): [0.5]}, 'conclusion': 'enough'}"),
}  # fmt: skip
OUTSIDE = "written_by_a_submission.txt"


def nbgrader(course: Path, *arguments: str) -> subprocess.CompletedProcess:
    # A gradebook's tables are made by alembic, whose own deprecation warnings are not our subject.
    return subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments], cwd=course, capture_output=True, text=True, timeout=900
    )  # fmt: skip


def cell_of(notebook, identity: str):
    return next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == identity)


def answer_with(notebook, name: str, source: str) -> None:
    cell_of(notebook, f"attention-{name}-answer").source = source


def shortened(place: Path) -> Path:
    """A folder of chapters that holds chapter 04 with its imports and its exercises alone, to save minutes."""
    notebook = classroom.load(ROOT / "notebooks" / f"{CHAPTER}.ipynb")
    start = next(i for i, cell in enumerate(notebook.cells) if cell.source.startswith("## Exercises"))
    end = classroom.exercises_of(notebook)[-1].check
    imports = next(cell for cell in notebook.cells if cell.cell_type == "code")
    notebook.cells = [notebook.cells[0], imports, *notebook.cells[2:3], *notebook.cells[start : end + 1]]
    (place / "notebooks").mkdir()
    (place / "res").symlink_to(ROOT / "res")
    nbformat.write(notebook, place / "notebooks" / f"{CHAPTER}.ipynb")
    return place / "notebooks"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The whole course of events, once."""
    place = tmp_path_factory.mktemp("class")
    folder = place / "course"
    (Path.home() / OUTSIDE).unlink(missing_ok=True)  # of a run in which the guard failed
    assert classroom.make_course(shortened(place), folder, ["04"]) == [CHAPTER]
    done = nbgrader(folder, "generate_assignment", CHAPTER, "--create")
    assert done.returncode == 0, done.stderr
    release = folder / "release" / CHAPTER
    source = nbformat.read(folder / "source" / CHAPTER / f"{CHAPTER}.ipynb", 4)
    solutions = {name: cell_of(source, f"attention-{name}-answer").source for name in NAMES}

    def submit(student: str, change=lambda notebook: None) -> None:
        place = folder / "submitted" / student / CHAPTER
        shutil.copytree(release, place)
        notebook = nbformat.read(place / f"{CHAPTER}.ipynb", 4)
        change(notebook)
        nbformat.write(notebook, place / f"{CHAPTER}.ipynb")

    def all_right(notebook):
        for name in NAMES:
            answer_with(notebook, name, solutions[name])

    def half(notebook):
        for name in ("weights", "mended"):
            answer_with(notebook, name, solutions[name])
        # Three of six predictions: partial credit.
        answer_with(notebook, "unnoticed", solutions["unnoticed"].replace('"same"', '"other"'))

    def foreseen(notebook):
        for name, (_, code) in FORESEEN.items():
            answer_with(notebook, name, code)

    def hostile(notebook):
        answer_with(notebook, "weights", "def weights(q, k, keep):\n    while True:\n        pass")
        # Right, but its grading cell is gone; then one that ends the process, whose grading cell was made kinder.
        answer_with(notebook, "unnoticed", solutions["unnoticed"])
        notebook.cells.remove(cell_of(notebook, "attention-unnoticed"))
        answer_with(notebook, "mended", "import os\n\n\ndef mended(x, qkv, projection, h):\n    os._exit(0)")
        cell_of(notebook, "attention-mended").source = "4"
        # Checks made kinder in memory; a file outside the folder, and the gradebook.
        answer_with(notebook, "how_many_heads", (
            "import os, types\nfrom pathlib import Path\nfrom vit_course import checks\n"
            "kind = types.SimpleNamespace(score=1.0, status='passed')\n"
            "checks.attention.how_many_heads = lambda *_, **__: kind\n"
            "def how_many_heads():\n    return {}\n"
            "for path in (Path.home() / 'NAME', Path('../../../gradebook.db'), Path('../../../nbgrader_config.py')):\n"
            "    try:\n        path.write_text('mine')\n"
            "    except OSError as error:\n        print(type(error).__name__)\n"
        ).replace("NAME", OUTSIDE))  # fmt: skip

    submit("a_all_right", all_right)
    submit("b_half", half)
    submit("c_untouched")
    submit("d_foreseen", foreseen)
    submit("e_hostile", hostile)
    submit("f_unreadable")
    (folder / "submitted" / "f_unreadable" / CHAPTER / f"{CHAPTER}.ipynb").write_text('{"cells": [')
    graded = nbgrader(folder, "autograde", CHAPTER)
    feedback = nbgrader(folder, "generate_feedback", CHAPTER)
    exported = nbgrader(folder, "export")
    assert exported.returncode == 0, exported.stderr
    with (folder / "grades.csv").open() as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    return folder, graded, feedback, rows


def text_of(cell) -> str:
    return "".join(output.get("text", "") for output in cell.outputs)


def autograded(course, student):
    folder = course[0]
    return nbformat.read(folder / "autograded" / student / CHAPTER / f"{CHAPTER}.ipynb", 4)


@cases(
    ("student", "score"),
    [
        ("a_all_right", sum(POINTS.values())),
        ("b_half", POINTS["weights"] + POINTS["mended"] + 0.5 * POINTS["unnoticed"]),
        ("c_untouched", 0),
        ("d_foreseen", 0.5 * POINTS["unnoticed"]),
        ("e_hostile", POINTS["unnoticed"]),
    ],
)
def test_scores(course, student, score):
    row = course[3][student]
    assert float(row["score"]) == score and float(row["max_score"]) == sum(POINTS.values())
    assert row["state"] == "graded"


def test_the_unreadable_submission_is_named_and_the_others_are_graded(course):
    folder, graded, _, rows = course
    assert graded.returncode != 0, "the teacher's shell is told"
    assert f"There was an error processing assignment '{CHAPTER}' for student 'f_unreadable'" in graded.stderr
    assert graded.stderr.count("There was an error processing assignment '") == 1
    assert set(rows) == {path.name for path in (folder / "submitted").iterdir()}
    assert rows["f_unreadable"]["score"] == "" and rows["f_unreadable"]["state"] == "not graded"
    assert not (folder / "autograded" / "f_unreadable" / CHAPTER).exists()


@cases("name", NAMES)
def test_foreseen_mistakes_are_named_to_the_learner(course, name):
    said = text_of(cell_of(autograded(course, "d_foreseen"), f"attention-{name}")).splitlines()
    html = (course[0] / "feedback" / "d_foreseen" / CHAPTER / f"{CHAPTER}.html").read_text()
    assert said[0].startswith(f"attention.{name}: ") and escape(said[1], quote=False) in html
    verdicts = (course[0] / "autograded" / "d_foreseen" / CHAPTER / VERDICTS).read_text()
    assert f"  the mistake's name: {FORESEEN[name][0]}" in verdicts


def test_the_hostile_submission_harms_nothing(course):
    notebook = autograded(course, "e_hostile")
    assert "did not return" in text_of(cell_of(notebook, "attention-weights"))
    assert "tries to end the program" in text_of(cell_of(notebook, "attention-mended"))
    refused = text_of(cell_of(notebook, "attention-how_many_heads-answer")).split()
    assert len(refused) == 2 and set(refused) <= {"PermissionError", "FileNotFoundError"}, "its own home is its own"
    assert not (Path.home() / OUTSIDE).exists()
    assert "configure" in (course[0] / "nbgrader_config.py").read_text()


def test_the_release_holds_no_solution_and_no_hidden_test(course):
    folder = course[0]
    released = nbformat.read(folder / "release" / CHAPTER / f"{CHAPTER}.ipynb", 4)
    text = "\n".join(cell.source for cell in released.cells)
    assert "SOLUTION" not in text and "HIDDEN" not in text and "<summary>Solution" not in text
    assert text.count("<summary>Hint 3</summary>") == len(NAMES)
    for seed in hidden_seeds(folder):
        assert seed not in text
    chapter = classroom.load(ROOT / "notebooks" / f"{CHAPTER}.ipynb")
    for exercise in classroom.exercises_of(chapter):
        name = exercise.name.split(".")[1]
        assert cell_of(released, f"attention-{name}-answer").source == exercise.stub_code
        assert cell_of(released, f"attention-{name}").metadata.nbgrader.points == POINTS[name]
    for name in re.findall(r"\]\((res/[^)]+)\)", text):
        assert (folder / "release" / CHAPTER / name).is_file()


def test_the_feedback_holds_no_hidden_test(course):
    folder, _, feedback, _ = course
    assert feedback.returncode == 0, feedback.stderr
    pages = sorted((folder / "feedback").glob("*/*/*.html"))
    assert len(pages) == 5
    for page in pages:
        text = page.read_text()
        assert "HIDDEN" not in text and "sys.modules" not in text
        for seed in hidden_seeds(folder):
            assert seed not in text
        for exercise in NAMES:
            assert f"attention.{exercise}" in text


def hidden_seeds(folder: Path) -> list[str]:
    text = (folder / "source" / CHAPTER / f"{CHAPTER}.ipynb").read_text()
    seeds = [seed for pair in re.findall(r"for seed in \[(\d+), (\d+)\]", text) for seed in pair]
    assert len(seeds) == 2 * sum(EXERCISES[f"attention.{name}"].draws for name in NAMES)
    assert all(len(seed) == 10 for seed in seeds), "shorter numbers stand in pages by chance"
    return seeds


def test_answers_for_the_shown_inputs_alone_fail_the_hidden_tests():
    # What the notebook's check sees, learnt by heart.
    shown = {}

    def spy(q, k, keep):
        out = answers.RIGHT["attention.weights"][0][0](q, k, keep)
        shown[tuple(q.shape)] = out.detach()
        return out

    check = EXERCISES["attention.weights"].check
    assert check(spy).status == "passed"

    def by_heart(q, k, keep):
        return shown[tuple(q.shape)] + 0 * (q.sum() + k.sum())

    assert check(by_heart).status == "passed" and check(by_heart, seed=4711).status == "failed"


# ---- the command


def test_all_chapters_become_assignments(tmp_path, capsys):
    assert main(["classroom", "make", str(tmp_path / "course")]) == 0
    names = sorted(path.name for path in (tmp_path / "course" / "source").iterdir())
    assert names == sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    printed = capsys.readouterr().out
    for name in names:
        assert name in printed
        notebook = nbformat.read(tmp_path / "course" / "source" / name / f"{name}.ipynb", 4)
        graded = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
        assert len(graded) == len(classroom.exercises_of(classroom.load(ROOT / "notebooks" / f"{name}.ipynb")))
        assert all(cell.source.endswith("* report.score") for cell in graded)


def test_a_folder_that_is_there_is_left_alone(tmp_path, capsys):
    (tmp_path / "gradebook.db").write_text("precious")
    assert main(["classroom", "make", str(tmp_path)]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["gradebook.db"]
    assert main(["classroom", "make", str(tmp_path), "--overwrite", "--chapters", "04"]) == 0
    assert (tmp_path / "gradebook.db").read_text() == "precious"
    (tmp_path / "nbgrader_config.py").write_text("# mine")
    assert main(["classroom", "make", str(tmp_path), "--overwrite", "--chapters", "04"]) == 0
    assert (tmp_path / "nbgrader_config.py").read_text() == "# mine"


def test_bad_input(tmp_path, capsys):
    assert main(["classroom", "make", str(tmp_path / "new"), "--chapters", "04", "77"]) == 2
    assert "no chapter '77'" in capsys.readouterr().err and not (tmp_path / "new").exists()
    (tmp_path / "file").write_text("x")
    assert main(["classroom", "make", str(tmp_path / "file")]) == 2
    assert "is a file" in capsys.readouterr().err


def test_an_exercise_without_its_parts_is_named(tmp_path):
    notebook = nbformat.read(ROOT / "notebooks" / f"{CHAPTER}.ipynb", 4)
    exercise = classroom.exercises_of(notebook)[0]
    text = notebook.cells[exercise.text]
    text.source = text.source.replace("<summary>Solution", "<summary>Answer")
    (tmp_path / "notebooks").mkdir()
    nbformat.write(notebook, tmp_path / "notebooks" / "04_attention.ipynb")
    with pytest.raises(ValueError, match=r"attention\.weights: no folded solution"):
        classroom.make_course(tmp_path / "notebooks", tmp_path / "course")
    assert not (tmp_path / "course").exists()
