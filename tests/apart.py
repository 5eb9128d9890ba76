"""Submissions in small, for tests: cells and grading cells in, points and outputs out."""

import nbformat

from vit_course.checks import EXERCISES
from vit_course.classroom.graded import Graded
from vit_course.classroom.isolation import Limited
from vit_course.classroom.process import Limits
from vit_course.classroom.submission import Submission

SEEDS = (1_234_567_890, 1_098_765_432)


def notebook(*cells):
    """A notebook of code; the name of an exercise, such as "attention.weights", is its grading cell."""
    return nbformat.v4.new_notebook(cells=[_graded(cell) if cell in EXERCISES else _code(cell) for cell in cells])


def graded(folder, *cells, limits=None, isolation=None):
    """-> ({exercise: its verdict}, the text of each cell's outputs): see `notebook`."""
    made = notebook(*cells)
    verdicts = Submission(made, folder, isolation or Limited(), limits or Limits()).grade()
    return {verdict.graded.name: verdict for verdict in verdicts}, [text_of(cell) for cell in made.cells]


def text_of(cell) -> str:
    """All that a cell shows as text."""
    parts = []
    for output in cell.outputs:
        parts.append(output.get("text") or output.get("data", {}).get("text/plain") or output.get("evalue", ""))
    return "".join(parts)


def _code(source: str):
    return nbformat.v4.new_code_cell(source)


def _graded(name: str):
    source = Graded(name, name.split(".")[1], SEEDS, EXERCISES[name].points).source
    cell = nbformat.v4.new_code_cell(source)
    cell.metadata["nbgrader"] = {"grade": True, "grade_id": name.replace(".", "-"), "points": EXERCISES[name].points}
    return cell
