"""Grades one submission cell by cell: its code runs in the learner's process, the checks run in this one."""

import contextlib
import time
from dataclasses import dataclass, replace
from pathlib import Path

from nbformat import NotebookNode

from vit_course._support.inputs.rules import harmless
from vit_course.checks import EXERCISES
from vit_course.checks.report import FAILED, Report
from vit_course.teaching.classroom.grading_cell import NOT_GRADED, SHOWN, Graded, read
from vit_course.teaching.classroom.learner_process import Ended, LearnerProcess
from vit_course.teaching.classroom.repair import defines
from vit_course.teaching.classroom.sandbox import USUAL, Limits

MOST_STARTS = 12
MOST_OUTPUTS = 200  # of one cell
MOST_OF_A_CELL = 24 * 2**20  # characters of its outputs together; the shell there keeps less
SHOWN_OF_ERROR = 300  # characters


@dataclass(frozen=True)
class Verdict:
    """The result of one grading cell.

    Args:
        graded: what the cell asks for.
        reports: of the visible inputs, then of the hidden ones; empty where nothing could be judged.
        why: why the answer could not be judged, or "".
    """

    graded: Graded
    reports: tuple[Report, ...]
    why: str = ""

    @property
    def report(self) -> Report | None:
        """The report that counts: the first one with the lowest score."""
        return min(self.reports, key=lambda one: one.score, default=None)

    @property
    def points(self) -> float | None:
        """The points reached, out of `graded.points`; None where the answer could not be judged."""
        return None if self.why or self.report is None else self.graded.points * self.report.score


class Submission:
    """Runs a notebook and fills in its outputs.

    Args:
        notebook: its cells get their outputs; a grading cell shows the verdict, with the points as its result.
        folder: the submission's folder, with the files that its code reads.
        isolation, limits, hidden: see `LearnerProcess`.
    """

    def __init__(
        self,
        notebook: NotebookNode,
        folder: Path,
        isolation,
        limits: Limits = USUAL,
        hidden: tuple[Path, ...] = (),
    ):
        self.cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        self._cell_seconds, self._end = limits.cell, time.monotonic() + 60 * limits.minutes
        self._start = lambda: LearnerProcess(folder, isolation, limits, hidden, self._end)
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
                    cell.outputs = shown(verdicts[-1])
        finally:
            self._close()
        return verdicts

    def _run(self, index: int) -> None:
        cell = self.cells[index]
        try:
            process = self._ready(index)
            cell.outputs, cell.execution_count = _outputs(*process.run(cell.source, self._seconds()))
        except (Ended, MemoryError, TimeoutError) as error:
            self._given_up.add(index)
            self._close()
            kind = "CellTimeoutError" if isinstance(error, TimeoutError) else type(error).__name__
            cell.outputs = [*cell.outputs, _error(kind, f"{error}; the notebook continues without this cell")]
            self.notes.append(f"cell {index + 1} of the code was given up: {error}")
        except _OutOfTime as error:
            cell.outputs = [_error("NotRun", str(error))]

    def _judge(self, graded: Graded, index: int) -> Verdict:
        exercise = EXERCISES.get(graded.name)
        if exercise is None:
            return Verdict(graded, (), f"this version of the course has no exercise {graded.name}")
        kind, error = self._error_of(graded, index)
        if kind in ("SyntaxError", "IndentationError", "TabError"):
            # The name may hold an object from another cell, which is not what was handed in.
            sentence = f"The cell of `{graded.answer}` does not run: {error}"
            return _failed(graded, "syntax-error", sentence)
        reports: list[Report] = []
        for options in ({}, *({"seed": seed} for seed in graded.seeds)):
            try:
                process = self._ready(index)
            except _OutOfTime as out:
                return Verdict(graded, tuple(reports), str(out))
            try:
                answer = process.answer(graded.answer)
                if answer is None and error:
                    sentence = f"The cell of `{graded.answer}` ended in an error before it was defined: {error}"
                    return _failed(graded, "cell-failed", sentence)
                report = exercise.check(answer, **options)
                notes = (f"(The cell of `{graded.answer}` ended in an error: {error})",) if error else ()
                reports.append(replace(report, notes=(*report.notes, *notes)))
            except (Ended, MemoryError, TimeoutError) as ended:
                self._close()
                return Verdict(graded, tuple(reports), f"the answer could not be fetched: {ended}")
            except Exception as refused:  # a WireError, or whatever else a forged answer leads to
                self._close()
                sentence = f"What the notebook has under `{graded.answer}` cannot be judged: {refused}"
                return _failed(graded, "wrong-type", sentence)
            if reports[-1].mistake == "interrupted":
                raise KeyboardInterrupt  # of the teacher: no verdict on the answer
            if reports[-1].mistake == "machine-busy":
                return Verdict(graded, tuple(reports), reports[-1].sentence)
            if not self._process.usable:
                self._close()
            if not reports[-1].score:
                break
        return Verdict(graded, tuple(reports))

    def _error_of(self, graded: Graded, index: int) -> tuple[str, str]:
        # The kind of error in which the answer's cell ended, and the error in one line, or two empty texts.
        places = [i for i in range(index) if defines(self.cells[i], graded.answer)]
        for output in self.cells[places[-1]].outputs if places else ():
            if output.output_type == "error":
                first = output.evalue.strip().splitlines()[:1]
                return output.ename, harmless(": ".join([output.ename, *first]))[:SHOWN_OF_ERROR]
        return "", ""

    def _ready(self, index: int) -> LearnerProcess:
        # A process in which all earlier cells have run, except the grading cells and those that ended a process.
        self._seconds()
        while self._process is None:
            self._starts += 1
            if self._starts > MOST_STARTS:
                raise _OutOfTime(f"the process ended {MOST_STARTS} times: the rest was not run")
            self._process = self._start()
            for earlier in range(index):
                if asked_for(self.cells[earlier]) is None and earlier not in self._given_up:
                    try:
                        self._process.run(self.cells[earlier].source, self._seconds())
                    except (Ended, MemoryError, TimeoutError):
                        self._given_up.add(earlier)
                        self._close()
                        break
        return self._process

    def _seconds(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise _OutOfTime("the time for the whole submission had run out")
        return min(left, self._cell_seconds)

    def _close(self) -> None:
        if self._process is not None:
            self._process.close()
        self._process = None


class _OutOfTime(Exception):
    """The time or the number of starts is used up: the rest of the submission is not run."""


def asked_for(cell: NotebookNode) -> Graded | None:
    """What a grading cell asks for; None for any other cell of code."""
    return read(cell.source) if cell.metadata.get("nbgrader", {}).get("grade") else None


def _failed(graded: Graded, mistake: str, sentence: str) -> Verdict:
    return Verdict(graded, (Report(graded.name, FAILED, 0.0, mistake=mistake, sentence=sentence),))


def shown(verdict: Verdict) -> list[NotebookNode]:
    """The outputs of a grading cell: the reports, and the points in the form from which nbgrader reads them."""
    outputs = []
    for place, report in enumerate(verdict.reports):
        if place == 0 or report is verdict.report:
            if place:
                outputs.append(_stream("On inputs that the notebook does not show:\n"))
            outputs.append(_stream(f"{report}\n"))
    if verdict.points is None:
        # An error output: without one, nbgrader would give full points.
        return [*outputs, _error(NOT_GRADED, verdict.why or "nothing was judged")]
    result = {"output_type": "execute_result", "execution_count": 1, "metadata": {}}
    return [*outputs, NotebookNode(**result, data={"text/plain": repr(float(verdict.points))})]


def _stream(text: str) -> NotebookNode:
    return NotebookNode(output_type="stream", name="stdout", text=text)


def _error(name: str, text: str) -> NotebookNode:
    return NotebookNode(output_type="error", ename=name, evalue=text, traceback=[f"{name}: {text}"])


def _outputs(outputs: list, count: int) -> tuple[list[NotebookNode], int]:
    # The learner's process is not trusted: the outputs are made anew from the few texts that they need.
    made, room = [], MOST_OF_A_CELL

    def short(text) -> str:
        nonlocal room
        text = text[:room] if type(text) is str else ""
        room -= len(text)
        return text

    for output in outputs[:MOST_OUTPUTS]:
        with contextlib.suppress(Exception):  # whatever the process sent in place of texts
            if output["output_type"] == "error":
                name, words = short(output["ename"]), short(output["evalue"])
                lines = [short(line) for line in output["traceback"][:MOST_OUTPUTS]]
                made.append(NotebookNode(output_type="error", ename=name, evalue=words, traceback=lines))
            elif output["output_type"] == "stream" and output["name"] in ("stdout", "stderr"):
                made.append(NotebookNode(output_type="stream", name=output["name"], text=short(output["text"])))
            elif output["output_type"] == "display_data":
                data = {kind: short(value) for kind, value in output["data"].items() if kind in SHOWN}
                made.append(NotebookNode(output_type="display_data", data=NotebookNode(data), metadata=NotebookNode()))
    return made, count
