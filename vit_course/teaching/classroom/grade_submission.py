"""Grades one submission: its cells and the checks of its answers run in the sandbox, what they say is read here."""

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from vit_course._support.inputs.rules import harmless
from vit_course.teaching.classroom.grading_cell import (
    NOT_GRADED_ERROR,
    REPORT_MIME,
    SAFE_MIMES,
    GradingCell,
    parse_grading_cell,
)
from vit_course.teaching.classroom.learner_process import CellEnded, LearnerProcess
from vit_course.teaching.classroom.sandbox import DEFAULT_LIMITS, Limits

MOST_STARTS = 12
NO_TIME = "the time for the whole submission had run out"
MOST_OUTPUTS = 200  # of one cell
MOST_TEXT = 20_000  # characters of a report


@dataclass(frozen=True)
class Report:
    """What a check said of an answer: the part of `checks.report.Report` that comes out of the sandbox.

    Args:
        score: from 0 to 1.
        mistake: the short name of what was done wrong, or None.
        text: the report as the learner reads it.
    """

    score: float
    mistake: str | None
    text: str


@dataclass(frozen=True)
class Verdict:
    """The result of one grading cell.

    Args:
        cell: what it asks for.
        reports: of the visible inputs, then of the hidden ones; empty where nothing could be judged.
        why: why the answer could not be judged, or "".
    """

    cell: GradingCell
    reports: tuple[Report, ...]
    why: str = ""

    @property
    def report(self) -> Report | None:
        """The report that counts: the first one with the lowest score."""
        return min(self.reports, key=lambda one: one.score, default=None)

    @property
    def points(self) -> float | None:
        """The points reached, out of `cell.points`; None where the answer could not be judged."""
        return None if self.why or self.report is None else self.cell.points * self.report.score


class NotebookGrader:
    """Runs the cells of a notebook, judges its answers and fills in its outputs.

    Args:
        notebook: its cells get their outputs; a grading cell shows the verdict, with the points as its result.
        folder: the submission's folder, with the files that its code reads.
        sandbox, limits, hidden: see `LearnerProcess`.
    """

    def __init__(
        self,
        notebook: NotebookNode,
        folder: Path,
        sandbox,
        limits: Limits = DEFAULT_LIMITS,
        hidden: tuple[Path, ...] = (),
    ):
        self.cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        self._cell_seconds, self._end = limits.cell_seconds, time.monotonic() + 60 * limits.minutes
        self._start = lambda: LearnerProcess(folder, sandbox, limits, hidden, self._end)
        self._process: LearnerProcess | None = None
        self._starts = 0
        self.notes: list[str] = []  # for the teacher
        self._given_up: set[int] = set()  # cells that ended the process: they are not run again

    def grade(self) -> list[Verdict]:
        """Runs all cells and judges all answers, in the order of the notebook; -> a verdict for each grading cell.

        Raises:
            RuntimeError: the process for the learner's code does not start.
        """
        verdicts = []
        try:
            for index, cell in enumerate(self.cells):
                cell.outputs, cell.execution_count = [], None
                graded = asked_for(cell)
                if graded is None:
                    self._run(index)
                else:
                    verdicts.append(self._judge(graded, index))
                    cell.outputs = grading_outputs(verdicts[-1])
        finally:
            self._close()
        return verdicts

    def _run(self, index: int) -> None:
        cell = self.cells[index]
        try:
            process = self._ready(index)
            outputs, count = process.run(cell.source, self._seconds())
            cell.outputs, cell.execution_count = _outputs(outputs), count if type(count) is int else None
        except CellEnded as ended:
            self._given_up.add(index)
            self._close()
            cell.outputs = [_error("CellEnded", f"{ended}; the notebook continues without this cell")]
            self.notes.append(f"code cell {index + 1} was given up: {ended}")
        except _GaveUp as error:
            cell.outputs = [_error(NOT_GRADED_ERROR, str(error))]

    def _judge(self, graded: GradingCell, index: int) -> Verdict:
        try:
            process = self._ready(index)
            # A check limits its own time, and starts anew for each draw, so the time of a cell does not count here.
            outputs, _ = process.run(graded.call, self._end - time.monotonic())
        except CellEnded as ended:
            self._close()
            if time.monotonic() >= self._end:
                return Verdict(graded, (), NO_TIME)
            self.notes.append(f"while {graded.name} was checked, {ended}")
            return _failed(graded, "process-ended", f"While `{graded.answer}` was checked, {ended}.")
        except _GaveUp as out:
            return Verdict(graded, (), str(out))
        try:
            verdict, replaced = read_verdict(graded, outputs)
        except (LookupError, TypeError, ValueError, AttributeError):  # the submission's code can show anything
            return Verdict(graded, (), "its check showed no report")
        if replaced:
            self.notes.append(
                f"the submission had replaced {replaced}; it was put back before {graded.name} was checked"
            )
        return verdict

    def _ready(self, index: int) -> LearnerProcess:
        # A process in which all earlier cells have run, except the grading cells and those that ended a process.
        self._seconds()
        while self._process is None:
            self._starts += 1
            if self._starts > MOST_STARTS:
                raise _GaveUp(f"the process ended {MOST_STARTS} times: the rest was not run")
            self._process = self._start()
            for earlier in range(index):
                if asked_for(self.cells[earlier]) is None and earlier not in self._given_up:
                    try:
                        self._process.run(self.cells[earlier].source, self._seconds())
                    except CellEnded:
                        self._given_up.add(earlier)
                        self._close()
                        break
        return self._process

    def _seconds(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise _GaveUp(NO_TIME)
        return min(left, self._cell_seconds)

    def _close(self) -> None:
        if self._process is not None:
            self._process.close()
        self._process = None


class _GaveUp(Exception):
    """The time or the number of starts is used up: the rest of the submission is not run."""


def asked_for(cell: NotebookNode) -> GradingCell | None:
    """What a grading cell asks for; None for any other cell of code."""
    return parse_grading_cell(cell.source) if cell.metadata.get("nbgrader", {}).get("grade") else None


def _failed(graded: GradingCell, mistake: str, sentence: str) -> Verdict:
    return Verdict(graded, (Report(0.0, mistake, f"{graded.name}: not yet.\n{sentence}"),))


def read_verdict(graded: GradingCell, outputs: list) -> tuple[Verdict, str]:
    """Reads the outputs of `GradingCell.call`; returns (the verdict, what the submission had replaced, or "").

    Raises:
        LookupError, TypeError, ValueError, AttributeError: they are no outputs, or hold no report.
    """
    for output in outputs:
        if output["output_type"] == "error":
            if output["ename"] == "NameError":
                sentence = f"The notebook defines no `{graded.answer}`, or the cell that does ended in an error."
                return _failed(graded, "not-defined", sentence), ""
            error = harmless(f"{output['ename']}: {output['evalue']}"[:300])
            return Verdict(graded, (), f"its check did not run: {error}"), ""
    said = [output["data"][REPORT_MIME] for output in outputs if REPORT_MIME in output.get("data", {})][-1]
    reports = tuple(_report(one) for one in said["reports"][: 1 + len(graded.seeds)])
    replaced = harmless(str(said["replaced"] or "")[:100])
    if reports[-1].mistake == "machine-busy":
        return Verdict(graded, reports, reports[-1].text), replaced
    return Verdict(graded, reports), replaced


def _report(said: dict) -> Report:
    score, mistake, text = said["score"], said["mistake"], said["text"]
    if type(score) not in (int, float) or not 0 <= score <= 1:
        raise ValueError(f"a score is from 0 to 1, got {score}")
    lines = map(harmless, text[:MOST_TEXT].splitlines())  # they go to the teacher's terminal too
    return Report(float(score), mistake and harmless(str(mistake)[:80]), "\n".join(lines))


def grading_outputs(verdict: Verdict) -> list[NotebookNode]:
    """The outputs of a grading cell: the reports, and the points in the form from which nbgrader reads them."""
    outputs = []
    for place, report in enumerate(verdict.reports):
        if place == 0 or report is verdict.report:
            if place:
                outputs.append(_stream("On inputs that the notebook does not show:\n"))
            outputs.append(_stream(f"{report.text}\n"))
    if verdict.points is None:
        # An error output: without one, nbgrader would give full points.
        return [*outputs, _error(NOT_GRADED_ERROR, verdict.why or "nothing was judged")]
    result = {"output_type": "execute_result", "execution_count": 1, "metadata": {}}
    return [*outputs, NotebookNode(**result, data={"text/plain": repr(float(verdict.points))})]


def _stream(text: str) -> NotebookNode:
    return NotebookNode(output_type="stream", name="stdout", text=text)


def _error(name: str, text: str) -> NotebookNode:
    return NotebookNode(output_type="error", ename=name, evalue=text, traceback=[f"{name}: {text}"])


def _outputs(outputs: list) -> list[NotebookNode]:
    # The submission's process is not trusted: the outputs are made anew from the few texts that they need.
    made = []
    for output in outputs[:MOST_OUTPUTS]:
        with contextlib.suppress(LookupError, TypeError, AttributeError):  # whatever it sent in place of texts
            if output["output_type"] == "error":
                name, words = _text(output["ename"]), _text(output["evalue"])
                lines = [_text(line) for line in output["traceback"][:MOST_OUTPUTS]]
                made.append(NotebookNode(output_type="error", ename=name, evalue=words, traceback=lines))
            elif output["output_type"] == "stream" and output["name"] in ("stdout", "stderr"):
                made.append(NotebookNode(output_type="stream", name=output["name"], text=_text(output["text"])))
            elif output["output_type"] in ("display_data", "execute_result"):
                data = {kind: _text(value) for kind, value in output["data"].items() if kind in SAFE_MIMES}
                # nbgrader takes the result of a teacher's own test cell as its points.
                is_result = output["output_type"] == "execute_result"
                count = {"execution_count": None} if is_result else {}
                made.append(NotebookNode(output_type=output["output_type"], data=data, metadata={}, **count))
    return made


def _text(value) -> str:
    # Without lone surrogates, which no file can hold.
    return value.encode("utf-8", "replace").decode()
