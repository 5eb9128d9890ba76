"""Parses the exercises of a notebook, and marks their solutions for nbgrader."""

import re
from dataclasses import dataclass

CHECK = re.compile(r"^checks\.(\w+\.\w+)\((\w+)\)$")
SOLUTION = re.compile(r"<details><summary>Solution</summary>\s*```python\n(.*?)```.*?</details>\s*", re.DOTALL)
HOLE = "raise NotImplementedError"


@dataclass(frozen=True)
class ExerciseCells:
    """One exercise in a notebook.

    Args:
        name: such as "attention.weights".
        answer: the name of the function or class that the learner writes.
        text, stub, check: the index of the markdown cell, of the learner's cell and of the check's.
        given: code of the cells between text and stub.
        stub_code, solution: the learner's cell as it is given, and the worked solution.
    """

    name: str
    answer: str
    text: int
    stub: int
    check: int
    given: tuple[str, ...]
    stub_code: str
    solution: str


def exercises_of(notebook) -> list[ExerciseCells]:
    """The exercises of a notebook, in order.

    Args:
        notebook: a node of format 4.

    Raises:
        ValueError: an exercise lacks one of its four parts: text under "### Exercise", solution, stub and check.
    """
    cells, found = notebook.cells, []
    for index, cell in enumerate(cells):
        match = CHECK.match(cell.source) if cell.cell_type == "code" else None
        if not match:
            continue
        name, answer = match.groups()
        text = next((i for i in range(index, -1, -1) if cells[i].source.startswith("### Exercise ")), None)
        if text is None or any(cells[i].cell_type != "code" for i in range(text + 1, index)) or text + 1 == index:
            raise ValueError(
                f"exercise {name}: its cells are not text under '### Exercise', stub and check, in this order"
            )
        solution = SOLUTION.search(cells[text].source)
        if solution is None:
            raise ValueError(f"exercise {name}: no folded solution in its text")
        given = tuple(cells[i].source for i in range(text + 1, index - 1))
        stub = cells[index - 1].source
        found.append(ExerciseCells(name, answer, text, index - 1, index, given, stub, solution[1].rstrip("\n")))
    return found


def with_holes(exercise: ExerciseCells, begin: str = "### BEGIN SOLUTION", end: str = "### END SOLUTION") -> str:
    """The worked solution, with marks around what replaces each `raise NotImplementedError` of the stub.

    Args:
        exercise: with its stub and its solution.
        begin, end: the marks, each a line of its own with the hole's indent.

    Raises:
        ValueError: a solution that changes a line of the stub.
    """
    stub = exercise.stub_code.split("\n")
    kept = "\n".join("(.+?)" if line.strip() == HOLE else re.escape(line) for line in stub)
    found = re.fullmatch(kept, exercise.solution, re.DOTALL)
    if not found:
        raise ValueError(f"exercise {exercise.name}: the solution does not keep every line of the stub")
    filled = iter(found.groups())
    lines = []
    for line in stub:
        if line.strip() == HOLE:
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + begin, next(filled), indent + end]
        else:
            lines.append(line)
    return "\n".join(lines)
