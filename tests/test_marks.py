"""What could not be graded has no mark: from the verdict through the gradebook."""

import csv
from shutil import copy
from unittest.mock import MagicMock

import pytest
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.api import Gradebook

from vit_course.__main__ import main
from vit_course.teaching.classroom import export_marks, nbgrader_settings
from vit_course.teaching.classroom.grade_submission import Report, Verdict, grading_outputs
from vit_course.teaching.classroom.grading_cell import GradingCell

# Of nbgrader's own code.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Object of type")]
GRADED = GradingCell("further.share", "shares", (), 4)
WRONG = Verdict(GRADED, (Report(0.0, "uneven", "not yet"),))
UNJUDGED = Verdict(GRADED, (), "the time for the whole submission had run out")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A gradebook's file with one assignment of one check, and three learners; its tables take seconds to make."""
    folder = tmp_path_factory.mktemp("made")
    # The gradebook's tables are made by alembic, which is found on the path.
    nbgrader_settings.configure(MagicMock(), str(folder / "config.py"))
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as made:
        made.add_assignment("14_several_processes")
        made.add_notebook("14_several_processes", "14_several_processes")
        made.add_grade_cell(
            "further-share", "14_several_processes", "14_several_processes", max_score=4, cell_type="code"
        )
        for name in ("wrong", "unjudged", "absent"):
            made.add_student(name, last_name=name.title(), first_name="Ada", email=f"{name}@example.org")
    return folder / "gradebook.db"


@pytest.fixture
def gradebook(made, tmp_path):
    """A copy of it, open."""
    copy(made, tmp_path)
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as opened:
        yield opened


def save(gradebook: Gradebook, student: str, verdict: Verdict) -> None:
    """As nbgrader does after a submission has run."""
    gradebook.add_submission("14_several_processes", student)
    cell = new_code_cell(GRADED.source, outputs=grading_outputs(verdict))
    cell.metadata["nbgrader"] = {"grade": True, "solution": False, "grade_id": "further-share", "points": 4}
    about = {
        "notebook": "14_several_processes", "assignment": "14_several_processes", "student": student,
        "db_url": str(gradebook.engine.url),
    }  # fmt: skip
    nbgrader_settings.SaveVerdicts().preprocess(new_notebook(cells=[cell]), {"nbgrader": about})
    gradebook.db.expire_all()


def test_what_was_not_judged_is_no_zero(gradebook, tmp_path):
    save(gradebook, "wrong", WRONG)
    save(gradebook, "unjudged", UNJUDGED)
    found = {one.student["id"]: one for one in export_marks.marks(gradebook)}
    assert [(found[name].state, found[name].points) for name in ("wrong", "unjudged", "absent")] == [
        ("graded", 0.0),
        ("not graded", None),
        ("missing", None),
    ]
    assert found["unjudged"].not_graded == ("further-share",)
    with pytest.raises(ValueError, match="the gradebook has no assignment '04'; it has 14_several_processes"):
        export_marks.marks(gradebook, ["04"])


@pytest.mark.parametrize("form", ["table", "moodle", "canvas"])
def test_names_are_no_formulas_and_a_full_disk_leaves_the_earlier_file(form, gradebook, tmp_path, monkeypatch):
    gradebook.add_student("=cmd", last_name="@SUM(1+1)", first_name="-x", email="+a@example.org")
    found, path = export_marks.marks(gradebook), tmp_path / "marks.csv"
    path.touch(0o600)
    export_marks.write(found, form, path)
    with path.open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert "'=cmd" in cells and any(cell.startswith("'@SUM(1+1)") for cell in cells)
    assert [cell for cell in cells if cell != "-" and cell.startswith(("=", "+", "-", "@"))] == []
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    monkeypatch.setattr(
        "vit_course._support.files.atomic.os.fsync", MagicMock(side_effect=OSError(28, "No space left"))
    )
    with pytest.raises(OSError, match="any earlier file is intact"):
        export_marks.write(found[:1], form, path)
    assert path.read_bytes() == before


def test_an_export_replaces_nothing_unasked(gradebook, tmp_path, capsys):
    (tmp_path / "nbgrader_config.py").write_text(f"c = get_config()\nc.CourseDirectory.root = {str(tmp_path)!r}\n")
    command, path = ["classroom", "export", str(tmp_path)], tmp_path / "table.csv"
    path.write_text("years of work")
    assert main(command) == 2 and path.read_text() == "years of work"
    assert "table.csv exists: add --force to overwrite it, or name another file with --out" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0 and path.read_text().startswith("assignment,duedate")


def test_a_mark_by_hand_is_a_mark_and_lateness_costs(gradebook):
    save(gradebook, "unjudged", UNJUDGED)
    gradebook.find_grade("further-share", "14_several_processes", "14_several_processes", "unjudged").manual_score = 3.0
    submission = gradebook.find_submission("14_several_processes", "unjudged")
    submission.notebooks[0].late_submission_penalty = 1.0
    gradebook.db.commit()
    (one,) = export_marks.marks(gradebook, students=["unjudged"])
    assert (one.state, one.raw, one.points) == ("graded", 3.0, 2.0)
