"""Repairs the cells of a submission so that they can be graded.

Learners copy, move and delete cells, and lose nbgrader's metadata. So that this costs as few points as possible, each
check is put back once, behind the answer that it asks for, with the teacher's own source.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from vit_course.teaching.classroom.grading_cell import GradingCell, parse_grading_cell, without_hidden_tests

SHOWN = 60  # characters of a name that a learner chose


@dataclass(frozen=True)
class AssignmentCell:
    """A cell of the assignment as the gradebook knows it.

    Args:
        name: nbgrader's, such as "attention-weights" or "attention-weights-answer".
        kind: "code" or "markdown".
        source: the cell's source; for an answer's cell, the stub.
        checksum: nbgrader's.
        locked: whether learners may change it.
        points: of a graded cell, else None.
        solution: whether learners write in it.
        task: nbgrader's third kind, which the course itself does not use.
    """

    name: str
    kind: str
    source: str
    checksum: str | None
    locked: bool
    points: float | None = None
    solution: bool = False
    task: bool = False

    @property
    def automatic(self) -> bool:
        """Whether the cell is a check, graded by program, and not an answer that a person grades."""
        return self.points is not None and not self.solution and not self.task

    @property
    def check(self) -> GradingCell | None:
        """What the cell asks for where it is one of the course's checks, else None."""
        return parse_grading_cell(self.source) if self.automatic else None

    def cell(self, source: str | None = None) -> NotebookNode:
        """A new notebook cell with nbgrader's metadata, with this source or by default the assignment's own."""
        made = (new_code_cell if self.kind == "code" else new_markdown_cell)(self.source if source is None else source)
        made.metadata["nbgrader"] = {
            "schema_version": 3,
            "grade_id": self.name,
            "cell_type": self.kind,
            "grade": self.points is not None and not self.task,
            "solution": self.solution,
            "locked": self.locked,
            "task": self.task,
            "checksum": self.checksum,
            **({} if self.points is None else {"points": self.points}),
        }
        return made


def repair_cells(
    notebook: NotebookNode, wanted: Iterable[AssignmentCell], handed_out: frozenset[str] = frozenset()
) -> list[str]:
    """Changes a notebook's cells so that each wanted check is there once, after its answer.

    Args:
        notebook: of valid cells, as from `parse_notebook.read_notebook`.
        wanted: the assignment's cells, in their order.
        handed_out: the sources of all cells as they were handed out: their definitions do not count as the learner's.

    Returns:
        What was wrong or was repaired, in sentences for the teacher.
    """
    wanted = {cell.name: cell for cell in wanted}
    notes: list[str] = []
    cells = [part for cell in notebook.cells for part in _split_merged(cell, wanted, notes)]
    cells = [_with_metadata(cell, wanted, notes) for cell in cells]
    for name in wanted:
        _keep_one(cells, name, wanted, notes)
    for name, cell in wanted.items():
        if cell.automatic:
            _place_check(cells, cell, wanted, handed_out, notes)
        elif cell.points is not None and _places(cells, name) == []:
            cells.append(cell.cell())
            notes.append(f"{name} was missing and was put back at the end")
    notebook.cells = cells
    return notes


def defines(cell: NotebookNode, name: str) -> bool:
    """Whether a cell other than a check defines a name.

    Searches the text line by line, because a cell with a syntax error or a magic cannot be parsed.
    """
    if cell.cell_type != "code" or parse_grading_cell(cell.source):
        return False
    pattern = re.compile(rf"(?:(?:async )?def|class) +{re.escape(name)}\b|{re.escape(name)} *(?::[^=]+)?=(?!=)")
    for line in cell.source.splitlines():
        if pattern.match(line):
            return True
        if line.startswith(("import ", "from ")) and name in re.findall(r"\w+", line.partition("import ")[2]):
            return True
    return False


def is_stub(cell: NotebookNode, wanted: AssignmentCell | None) -> bool:
    """Whether an answer's cell is still the unchanged stub."""
    return wanted is not None and cell.source.strip() == wanted.source.strip()


def _split_merged(cell: NotebookNode, wanted: dict, notes: list[str]) -> list[NotebookNode]:
    # Splits a cell in which a check was merged with other code: the learner's lines become a cell before the check.
    asked = parse_grading_cell(cell.source) if cell.cell_type == "code" else None
    expected = next((w for w in wanted.values() if asked and w.check and w.check.name == asked.name), None)
    if expected is None:
        return [cell]
    ours = {line.strip() for line in without_hidden_tests(expected.source).splitlines()}
    rest = "\n".join(line for line in cell.source.splitlines() if not line.strip() or line.strip() not in ours).strip()
    if not re.search(r"^(?:async |def |class |@|import |from |\w+ *=)", rest, re.MULTILINE):
        return [cell]
    notes.append(f"the check {expected.name} and other lines were in one cell, and were separated")
    answer = wanted.get(f"{expected.name}-answer")
    first = answer.cell(rest) if answer and defines(new_code_cell(rest), asked.answer) else new_code_cell(rest)
    return [first, expected.cell()]


def _with_metadata(cell: NotebookNode, wanted: dict, notes: list[str]) -> NotebookNode:
    # The cell with the right nbgrader metadata, or with none where the assignment does not know it.
    metadata = cell.metadata.pop("nbgrader", None)
    grade_id = metadata.get("grade_id") if isinstance(metadata, dict) else None
    # The source of a check identifies it more reliably than its metadata does.
    asked = parse_grading_cell(cell.source) if cell.cell_type == "code" else None
    name = next((w.name for w in wanted.values() if asked and w.check and w.check.name == asked.name), grade_id)
    expected = wanted.get(name) if isinstance(name, str) else None
    if expected is None:
        if metadata:
            notes.append(f"a cell has a name that the assignment does not know, {_short(grade_id)}: it was run as code")
        return cell
    if name != grade_id:
        notes.append(f"the check {name} had lost its name")
    if expected.automatic:
        if grade_id == name and cell.source not in (expected.source, without_hidden_tests(expected.source)):
            notes.append(f"the check {name} was changed; the teacher's version counts")
        return expected.cell()
    if cell.cell_type != expected.kind:
        notes.append(
            f"{name} was turned into a cell of another type ({cell.cell_type}); it was read as {expected.kind}"
        )
    return expected.cell(expected.source if expected.locked and not expected.solution else cell.source)


def _keep_one(cells: list, name: str, wanted: dict, notes: list[str]) -> None:
    # Of several cells with one name only the last keeps it; of answers, the last one that is not the stub, if any.
    found = _places(cells, name)
    if len(found) < 2:
        return
    written = [place for place in found if not is_stub(cells[place], wanted[name])]
    kept = (written if wanted[name].solution and written else found)[-1]
    if wanted[name].automatic:
        notes.append(f"the check {name} appears {len(found)} times; the last one counts")
    else:
        notes.append(f"{name} appears {len(found)} times; what is defined last before the check counts")
    for place in found:
        if place != kept:
            if wanted[name].automatic:
                # A second verdict would only take time.
                cells[place] = new_code_cell(f"# a copy of the check {name}")
            else:
                del cells[place].metadata["nbgrader"]


def _place_check(
    cells: list, check: AssignmentCell, wanted: dict, handed_out: frozenset[str], notes: list[str]
) -> None:
    # Puts the check behind the learner's last definition of its answer; the chapter's own definitions, which were
    # handed out, and the stub count only where there is no other.
    found = _places(cells, check.name)
    every = [i for i, cell in enumerate(cells) if check.check and defines(cell, check.check.answer)]
    stub = wanted.get(f"{check.name}-answer")
    defined = [i for i in every if cells[i].source not in handed_out or is_stub(cells[i], stub)]
    written = [i for i in defined if not is_stub(cells[i], stub)]
    last = max(written or defined or _places(cells, f"{check.name}-answer"), default=len(cells) - 1)
    if not found:
        cells.insert(last + 1, check.cell())
        notes.append(f"the check {check.name} was missing and was put back")
    elif written and min(written) > found[0]:
        cells.insert(last + 1, cells[found[0]])
        del cells[found[0]]
        notes.append(f"the check {check.name} came before its answer and was judged after it")
    elif any(last < i < found[0] for i in every):
        cells.insert(last + 1, cells.pop(found[0]))
        notes.append(f"between the answer and the check {check.name} its name was redefined: judged before that")


def _places(cells: list, name: str) -> list[int]:
    return [i for i, cell in enumerate(cells) if cell.metadata.get("nbgrader", {}).get("grade_id") == name]


def _short(name) -> str:
    return repr(name)[:SHOWN]
