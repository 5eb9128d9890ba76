"""One submission, cell by cell: code runs in the learner's process, verdicts are reached in this one."""

import time
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from vit_course.checks import EXERCISES
from vit_course.checks.report import Report
from vit_course.classroom.apart.wire import WireError
from vit_course.classroom.graded import NOT_GRADED, Graded, read
from vit_course.classroom.process import USUAL, Ended, LearnerProcess, Limits

MOST_STARTS = 12
FIELDS = {
    "stream": ("name", "text"),
    "display_data": ("data", "metadata"),
    "execute_result": ("data", "metadata", "execution_count"),
    "error": ("ename", "evalue", "traceback"),
}


@dataclass(frozen=True)
class Verdict:
    """What one grading cell came to.

    Args:
        graded: what it asked for.
        reports: of the inputs shown, then of those that are not; empty where nothing could be judged.
        why: what kept it from being judged, or "".
    """

    graded: Graded
    reports: tuple[Report, ...]
    why: str = ""

    @property
    def report(self) -> Report | None:
        """The report that counts: the first of the lowest score."""
        return min(self.reports, key=lambda one: one.score, default=None)

    @property
    def points(self) -> float | None:
        """Of `graded.points`; None where nothing could be judged."""
        return None if self.why or self.report is None else self.graded.points * self.report.score


class Submission:
    """Runs a notebook and fills in its outputs.

    Args:
        notebook: its cells get outputs; grading cells those of the verdict, with the points as the result.
        folder: of the submission, for what its code reads.
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
        self._start = lambda: LearnerProcess(folder, isolation, limits, hidden)
        self._cell_seconds, self._end = limits.cell, time.monotonic() + 60 * limits.minutes
        self._process: LearnerProcess | None = None
        self._starts = 0
        self._given_up: set[int] = set()  # cells with which the process ended: they are not run again

    def grade(self) -> list[Verdict]:
        """Runs all cells and judges all answers, in the order of the notebook.

        Returns:
            A verdict for each grading cell.

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
            cell.outputs = [*cell.outputs, _error(kind, f"{error}; the notebook goes on without this cell")]
        except _OutOfTime as error:
            cell.outputs = [_error("NotRun", str(error))]

    def _judge(self, graded: Graded, index: int) -> Verdict:
        exercise = EXERCISES.get(graded.name)
        if exercise is None:
            return Verdict(graded, (), f"this version of the course has no exercise {graded.name}")
        reports: list[Report] = []
        for options in ({}, *({"seed": seed} for seed in graded.seeds)):
            try:
                answer = self._ready(index).answer(graded.answer)
                reports.append(exercise.check(answer, **options))
            except (Ended, MemoryError, TimeoutError, WireError, RuntimeError) as error:
                self._close()
                return Verdict(graded, tuple(reports), f"the answer could not be fetched: {error}")
            except _OutOfTime as error:
                return Verdict(graded, tuple(reports), str(error))
            if reports[-1].mistake == "machine-busy":
                return Verdict(graded, tuple(reports), reports[-1].sentence)
            if not self._process.usable:
                self._close()
            if not reports[-1].score:
                break
        return Verdict(graded, tuple(reports))

    def _ready(self, index: int) -> LearnerProcess:
        # A process in which all cells before this one have run, but those with which one ended.
        while self._process is None:
            self._starts += 1
            if self._starts > MOST_STARTS:
                raise _OutOfTime(f"the process ended {MOST_STARTS} times: what follows was not run")
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
            raise _OutOfTime("the time for the whole submission was over")
        return min(left, self._cell_seconds)

    def _close(self) -> None:
        if self._process is not None:
            self._process.close()
        self._process = None


class _OutOfTime(Exception):
    """Nothing more of this submission is run."""


def asked_for(cell: NotebookNode) -> Graded | None:
    """What a grading cell asks for; None for any other cell.

    Args:
        cell: of kind "code".
    """
    return read(cell.source) if cell.metadata.get("nbgrader", {}).get("grade") else None


def shown(verdict: Verdict) -> list[NotebookNode]:
    """The outputs of a grading cell: the reports, and the points in the form from which nbgrader reads them.

    Args:
        verdict: what the cell came to.
    """
    outputs = []
    for place, report in enumerate(verdict.reports):
        if place == 0 or report is verdict.report:
            if place:
                outputs.append(_stream("On inputs that the notebook does not show:\n"))
            outputs.append(_stream(f"{report}\n"))
    if verdict.points is None:
        # An error, or nbgrader would give all points.
        return [*outputs, _error(NOT_GRADED, verdict.why or "nothing was judged")]
    result = {"output_type": "execute_result", "execution_count": 1, "metadata": {}}
    return [*outputs, NotebookNode(**result, data={"text/plain": repr(float(verdict.points))})]


def _stream(text: str) -> NotebookNode:
    return NotebookNode(output_type="stream", name="stdout", text=text)


def _error(name: str, text: str) -> NotebookNode:
    return NotebookNode(output_type="error", ename=name, evalue=text, traceback=[f"{name}: {text}"])


def _outputs(outputs: list, count: int) -> tuple[list[NotebookNode], int]:
    # Made anew from what may be in an output: whatever comes from the learner's process is only text and pictures.
    made = []
    for output in outputs:
        kind = output.get("output_type") if isinstance(output, dict) else None
        if kind not in tuple(FIELDS):  # it may be of any type
            continue
        fields = {name: output.get(name) for name in FIELDS[kind]}
        right = {
            "stream": lambda f: f["name"] in ("stdout", "stderr") and isinstance(f["text"], str),
            "error": lambda f: all(isinstance(line, str) for line in [f["ename"], f["evalue"], *f["traceback"]]),
        }.get(kind, _is_data)
        try:
            if right(fields):
                made.append(NotebookNode(output_type=kind, **fields))
        except (TypeError, AttributeError):
            continue
    return made, count


def _is_data(fields: dict) -> bool:
    if fields.get("execution_count", 0) is not None and type(fields.get("execution_count", 0)) is not int:
        return False
    return isinstance(fields["metadata"], dict) and all(
        isinstance(kind, str) and (isinstance(value, str) or kind.endswith("json"))
        for kind, value in fields["data"].items()
    )
