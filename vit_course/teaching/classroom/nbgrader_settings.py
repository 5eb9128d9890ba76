"""Settings with which nbgrader grades this course. Read by a course's nbgrader_config.py."""

import contextlib
import html
import os
import sys
import time
from pathlib import Path

import bleach
from jinja2 import pass_context
from nbconvert.exporters import HTMLExporter
from nbconvert.preprocessors import ClearMetadataPreprocessor, CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearOutput,
    GetGrades,
    IgnorePattern,
    LimitOutput,
    NbGraderPreprocessor,
    OverwriteCells,
    OverwriteKernelspec,
    SaveAutoGrades,
)
from nbgrader.utils import determine_grade, is_grade
from traitlets import Float, Integer, Unicode

from vit_course.teaching.classroom.grade_submission import NotebookGrader
from vit_course.teaching.classroom.grading_cell import NOT_GRADED_ERROR, VERDICTS, without_hidden_tests
from vit_course.teaching.classroom.isolation import sandbox_named
from vit_course.teaching.classroom.repair import AssignmentCell
from vit_course.teaching.classroom.sandbox import DEFAULT_LIMITS, Limits

NO_POINTS = "not graded: "  # before the reason, in the verdicts as text


def wanted_cells(notebook) -> list[AssignmentCell]:
    """The cells of an assignment in their order, from its notebook in the gradebook."""
    points = {cell.name: cell.max_score for cell in (*notebook.grade_cells, *notebook.task_cells)}
    solutions = {cell.name for cell in notebook.solution_cells}
    tasks = {cell.name for cell in notebook.task_cells}
    return [
        AssignmentCell(
            cell.name, cell.cell_type, cell.source, cell.checksum, bool(cell.locked),
            points.get(cell.name), cell.name in solutions, cell.name in tasks,
        )
        for cell in notebook.source_cells
    ]  # fmt: skip


class RunInSandbox(NbGraderPreprocessor):
    """Takes the place of nbgrader's own execution: runs the notebook, its checks included, in a sandbox."""

    isolation = Unicode(help="the sandbox, as `classroom grade` names it").tag(config=True)
    course = Unicode(help="the course's folder, which no submission sees").tag(config=True)
    memory = Float(DEFAULT_LIMITS.memory, help="gigabytes that one submission may take").tag(config=True)
    disk = Float(DEFAULT_LIMITS.disk, help="gigabytes of files that one submission may write").tag(config=True)
    processes = Integer(DEFAULT_LIMITS.processes, help="processes and threads of one submission").tag(config=True)
    minutes = Float(DEFAULT_LIMITS.minutes, help="minutes that one submission may take").tag(config=True)
    cell_seconds = Float(DEFAULT_LIMITS.cell_seconds, help="seconds that one cell may take").tag(config=True)

    def preprocess(self, nb, resources):
        """Runs and grades one repaired notebook: fills in its outputs, and writes the verdicts to a file beside it.

        Raises:
            ValueError: nbgrader was called directly, so that no submission has been read and repaired.
            RuntimeError: the process for the learner's code does not start.
        """
        sandbox = sandbox_named(self.isolation)
        limits = Limits(
            memory=self.memory, processes=self.processes, minutes=self.minutes, disk=self.disk,
            cell_seconds=self.cell_seconds,
        )  # fmt: skip
        folder = Path(resources["metadata"]["path"]).resolve()
        submission = NotebookGrader(nb, folder, sandbox, limits, (Path(self.course).resolve(),))
        who, began = resources["nbgrader"]["student"], time.monotonic()
        verdicts = submission.grade()
        grades = [determine_grade(cell) for cell in nb.cells if is_grade(cell)]  # a teacher's own test cells among them
        points, most = sum(points or 0 for points, _ in grades), sum(most for _, most in grades)
        with contextlib.suppress(OSError):  # nobody reads the output any more
            print(f"{who}: {points:g} of {most:g} points, graded in {time.monotonic() - began:.0f} s", flush=True)
        for verdict in verdicts:
            if verdict.why:
                self.log.error("%s: %s was not graded: %s", who, verdict.cell.name, verdict.why)
        notes = [*nb.metadata.get("vit_course", {}).get("notes", []), *submission.notes]
        (folder / VERDICTS).write_text(as_text(verdicts, notes), encoding="utf-8", errors="replace")
        return nb, resources


def as_text(verdicts: list, notes: list[str]) -> str:
    """A submission's verdicts and repairs as plain text, readable without the notebook."""
    lines = [f"- {note}" for note in notes]
    for verdict in verdicts:
        points = NO_POINTS + verdict.why if verdict.points is None else f"{verdict.points:g} of {verdict.cell.points}"
        lines += ["", f"{verdict.cell.name}: {points}"]
        if verdict.report:
            name = [f"the mistake's name: {verdict.report.mistake}"] if verdict.report.mistake else []
            lines += [f"  {line}" for line in [*verdict.report.text.splitlines(), *name]]
    return "\n".join(lines).strip() + "\n"


class SaveVerdicts(SaveAutoGrades):
    """Saves no score for an answer that could not be judged; nbgrader would save 0 for the error."""

    def _add_score(self, cell, resources):
        super()._add_score(cell, resources)
        if any(output.get("ename") == NOT_GRADED_ERROR for output in cell.get("outputs", [])):
            about = (self.notebook_id, self.assignment_id, self.student_id)
            grade = self.gradebook.find_grade(cell.metadata["nbgrader"]["grade_id"], *about)
            grade.auto_score, grade.needs_manual_grade = None, True
            self.gradebook.db.commit()


class HideHiddenTests(NbGraderPreprocessor):
    """Takes hidden tests out of the feedback, and the tracebacks that would quote them."""

    def preprocess_cell(self, cell, resources, cell_index):
        """Clears one cell of the feedback in place."""
        if cell.metadata.get("nbgrader", {}).get("grade"):
            for output in cell.get("outputs", []):
                if output.output_type == "error":
                    output.traceback = [f"{output.ename}: {output.evalue}"]
            # A cell that was added back, or whose lines were lost, must not stop the feedback.
            cell.source = without_hidden_tests(cell.source)
        return cell, resources


POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; font-src data:; '
    "style-src 'unsafe-inline'\">"
)
# The HTML elements and attributes that text may have.
INLINE_TAGS = ("a", "b", "code", "del", "em", "i", "img", "s", "span", "strong", "sub", "sup", "u")
BLOCK_TAGS = ("blockquote", "br", "details", "div", "h1", "h2", "h3", "h4", "hr", "li", "ol", "p", "pre", "summary")
LIST_TAGS = ("ul", "dd", "dl", "dt", "table", "tbody", "td", "th", "thead", "tr")
TAGS = {*INLINE_TAGS, *BLOCK_TAGS, *LIST_TAGS}
ATTRIBUTES = {"a": ["href", "title"], "img": ["src", "alt", "title", "width"], "td": ["align"], "th": ["align"]}


MOST_CHARACTERS = 20_000  # characters of a text cell


class FeedbackPage(HTMLExporter):
    """A feedback page on which no part of a submission can run scripts, load files or change the page's style."""

    @pass_context
    def markdown2html(self, context, source: str) -> str:
        """Markdown as sanitised HTML; nbgrader's own page does not sanitise it."""
        try:
            if len(source) > MOST_CHARACTERS:
                raise ValueError("converting it may take very long")
            text = super().markdown2html(context, source)
            return bleach.clean(text, TAGS, ATTRIBUTES, ["http", "https", "mailto", "data"], strip=True)
        except Exception:  # text that is too long or cannot be converted, such as one with a missing picture
            return f"<pre>{html.escape(source)}</pre>"

    def from_notebook_node(self, nb, resources=None, **options):
        """Returns (the page with the content policy, its resources)."""
        page, resources = super().from_notebook_node(nb, resources, **options)
        # The policy also blocks the scripts that would typeset formulas.
        return page.replace("<head>", f"<head>\n{POLICY}", 1), resources


def configure(c, config_file: str) -> None:
    """Sets what this course needs; whatever a teacher sets afterwards overrules it.

    Args:
        c: nbgrader's configuration.
        config_file: the course's nbgrader_config.py, whose folder is the course.
    """
    course = str(Path(config_file).resolve().parent)
    c.CourseDirectory.root = course
    # Not nbgrader's default, which everybody on the machine may write to.
    c.Exchange.root = str(Path(course) / "exchange")
    c.ExportApp.plugin_class = "vit_course.teaching.classroom.export_marks.Table"
    c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
    c.RunInSandbox.course = course
    c.Autograde.sanitize_preprocessors = [
        ClearOutput, OverwriteKernelspec, OverwriteCells, CheckCellMetadata,
    ]  # fmt: skip
    c.Autograde.autograde_preprocessors = [
        RunInSandbox, IgnorePattern, ClearMetadataPreprocessor, LimitOutput, SaveVerdicts, AssignLatePenalties,
        CheckCellMetadata,
    ]  # fmt: skip
    c.GenerateFeedback.exporter_class = FeedbackPage
    c.GenerateFeedback.preprocessors = [GetGrades, HideHiddenTests, CSSHTMLHeaderPreprocessor]
    # nbgrader calls alembic, which lies beside this Python and need not be on the path.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
