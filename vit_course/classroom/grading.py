"""Settings with which nbgrader grades this course. Read by a course's nbgrader_config.py."""

import os
import sys
import time
from pathlib import Path

from nbconvert.preprocessors import ClearMetadataPreprocessor, CSSHTMLHeaderPreprocessor
from nbformat.v4 import new_markdown_cell
from nbgrader.api import Gradebook
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearHiddenTests,
    ClearOutput,
    GetGrades,
    IgnorePattern,
    LimitOutput,
    NbGraderPreprocessor,
    OverwriteCells,
    OverwriteKernelspec,
    SaveAutoGrades,
)
from traitlets import Float, Integer, Unicode

from vit_course.classroom.course import course_id
from vit_course.classroom.graded import NOT_GRADED, without_hidden_tests
from vit_course.classroom.mended import Wanted, mend

VERDICTS = "verdicts.txt"  # beside the notebook, and with its feedback


class MendCells(NbGraderPreprocessor):
    """In the place of nbgrader's DeduplicateIds: copied, moved, renamed and lost cells are put right."""

    def preprocess(self, nb, resources):
        """Mends one notebook; what was wrong stands at its top.

        Args:
            nb: what was handed in; it is changed.
            resources: nbgrader's, which say whose it is and for what.

        Returns:
            Both.
        """
        about = resources["nbgrader"]
        with Gradebook(about["db_url"]) as gradebook:
            wanted = wanted_cells(gradebook.find_notebook(about["notebook"], about["assignment"]))
        # Set in any case: what a submission says here is not ours.
        nb.metadata["vit_course"] = {"notes": mend(nb, wanted)}
        for note in nb.metadata["vit_course"]["notes"]:
            self.log.warning("%s: %s", about["student"], note)
        if nb.metadata["vit_course"]["notes"]:
            lines = [f"- {note}" for note in nb.metadata["vit_course"]["notes"]]
            nb.cells.insert(0, new_markdown_cell("\n".join(["**What was handed in was mended:**", "", *lines])))
        nb.nbformat_minor = 5
        return nb, resources


def wanted_cells(notebook) -> list[Wanted]:
    """The cells of an assignment's notebook, in their order.

    Args:
        notebook: the gradebook's.
    """
    points = {cell.name: cell.max_score for cell in (*notebook.grade_cells, *notebook.task_cells)}
    solutions = {cell.name for cell in notebook.solution_cells}
    tasks = {cell.name for cell in notebook.task_cells}
    return [
        Wanted(
            cell.name, cell.cell_type, cell.source, cell.checksum, bool(cell.locked),
            points.get(cell.name), cell.name in solutions, cell.name in tasks,
        )
        for cell in notebook.source_cells
    ]  # fmt: skip


class RunApart(NbGraderPreprocessor):
    """In the place of nbgrader's kernel: the learner's cells run in a process apart, and verdicts are reached here."""

    isolation = Unicode(
        help="how that process is kept apart: podman, docker, bubblewrap, user or limits; "
        "by default the first of them that works here"
    ).tag(config=True)
    memory = Float(4.0, help="gigabytes that one submission may take").tag(config=True)
    processes = Integer(256, help="processes and threads that one submission may have").tag(config=True)
    course = Unicode(help="the course's folder, which no submission sees").tag(config=True)
    minutes = Float(30.0, help="minutes that one submission may take").tag(config=True)
    cell_seconds = Float(240.0, help="seconds that one cell may take").tag(config=True)
    _chosen = None

    def preprocess(self, nb, resources):
        """Runs and grades one notebook; the verdicts are written beside it too.

        Args:
            nb: the mended notebook; its cells get their outputs.
            resources: nbgrader's, which say whose it is and where it lies.

        Returns:
            Both.

        Raises:
            ValueError: the wanted isolation does not work here.
            RuntimeError: the process for the learner's code does not start.
        """
        # Here, because nbgrader's other commands read these settings too, and have no use for PyTorch.
        from vit_course.classroom.isolation import choose
        from vit_course.classroom.process import Limits
        from vit_course.classroom.submission import Submission

        if RunApart._chosen is None:
            RunApart._chosen = choose(self.isolation or None)
            for text in RunApart._chosen[1]:
                self.log.warning("NOT PROTECTED: a submission's code runs with %s, and %s", self._chosen[0].name, text)
        limits = Limits(memory=self.memory, processes=self.processes, minutes=self.minutes, cell=self.cell_seconds)
        folder = Path(resources["metadata"]["path"]).resolve()
        hidden = (Path(self.course or folder).resolve(),)
        submission = Submission(nb, folder, RunApart._chosen[0], limits, hidden)
        who, began = resources["nbgrader"]["student"], time.monotonic()
        verdicts = submission.grade()
        points = sum(verdict.points or 0.0 for verdict in verdicts)
        print(f"{who}: {points:g} points in {time.monotonic() - began:.0f} s", flush=True)
        for verdict in verdicts:
            if verdict.why:
                self.log.error("%s: %s was not graded: %s", who, verdict.graded.name, verdict.why)
        notes = nb.metadata.get("vit_course", {}).get("notes", [])
        (folder / VERDICTS).write_text(as_text(verdicts, notes), encoding="utf-8")
        return nb, resources


def as_text(verdicts: list, notes: list[str]) -> str:
    """A whole submission's verdicts for people who read no notebook.

    Args:
        verdicts: in the order of the notebook.
        notes: what was mended, in sentences.
    """
    lines = [f"- {note}" for note in notes]
    for verdict in verdicts:
        points = "not graded" if verdict.points is None else f"{verdict.points:g} of {verdict.graded.points:g}"
        lines += ["", f"{verdict.graded.name}: {points}"]
        lines += [verdict.why] if verdict.why else []
        if verdict.report:
            name = [f"the mistake's name: {verdict.report.mistake}"] if verdict.report.mistake else []
            lines += [f"  {line}" for line in [*verdict.report.text.splitlines(), *name]]
    return "\n".join(lines).strip() + "\n"


class SaveVerdicts(SaveAutoGrades):
    """What could not be judged has no score, where nbgrader would save a zero for an error."""

    def _add_score(self, cell, resources):
        super()._add_score(cell, resources)
        if any(output.output_type == "error" and output.ename == NOT_GRADED for output in cell.get("outputs", [])):
            about = (self.notebook_id, self.assignment_id, self.student_id)
            grade = self.gradebook.find_grade(cell.metadata["nbgrader"]["grade_id"], *about)
            grade.auto_score, grade.needs_manual_grade = None, True
            self.gradebook.db.commit()


class HideHiddenTests(ClearHiddenTests):
    """Takes hidden tests out of the feedback, and the tracebacks that would quote them."""

    def preprocess_cell(self, cell, resources, cell_index):
        """Clears one cell.

        Args:
            cell: of the feedback; it is changed.
            resources: nbgrader's.
            cell_index: its place.

        Returns:
            The cell and the resources.
        """
        if cell.metadata.get("nbgrader", {}).get("grade"):
            for output in cell.get("outputs", []):
                if output.output_type == "error":
                    output.traceback = [f"{output.ename}: {output.evalue}"]
            # A cell that was added back, or whose lines were lost, must not stop the feedback.
            cell.source = without_hidden_tests(cell.source)
        return cell, resources


def configure(c, config_file: str) -> None:
    """Sets what this course needs; whatever a teacher sets afterwards overrules it.

    Args:
        c: nbgrader's configuration.
        config_file: the course's nbgrader_config.py, whose folder is the course.
    """
    course = str(Path(config_file).resolve().parent)
    c.CourseDirectory.root = course
    c.CourseDirectory.course_id = course_id(Path(course))
    # Not nbgrader's own, which everybody on the machine may write to.
    c.Exchange.root = str(Path(course) / "exchange")
    c.ExportApp.plugin_class = "vit_course.classroom.marks.Table"
    c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
    c.RunApart.course = course
    c.Autograde.sanitize_preprocessors = [
        ClearOutput, MendCells, OverwriteKernelspec, OverwriteCells, CheckCellMetadata,
    ]  # fmt: skip
    c.Autograde.autograde_preprocessors = [
        RunApart, IgnorePattern, ClearMetadataPreprocessor, LimitOutput, SaveVerdicts, AssignLatePenalties,
        CheckCellMetadata,
    ]  # fmt: skip
    c.GenerateFeedback.preprocessors = [GetGrades, HideHiddenTests, CSSHTMLHeaderPreprocessor]
    # nbgrader calls alembic, which lies beside this Python and need not be on the path.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
