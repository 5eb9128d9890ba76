"""The exercises as the notebooks hold them, for tests."""

import ast
from functools import cache

from conftest import ROOT

from vit_course import classroom

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@cache
def all_exercises() -> dict:
    """name -> (notebook path, ExerciseCells), in the order of the notebooks."""
    return {
        exercise.name: (path, exercise)
        for path in NOTEBOOKS
        for exercise in classroom.exercises_of(classroom.load(path))
    }


def stub(name: str):
    """The object that the learner's cell defines, untouched."""
    return _run(name, all_exercises()[name][1].stub_code)


def solution(name: str):
    """The object that the worked solution defines."""
    return _run(name, all_exercises()[name][1].solution)


def _run(name: str, code: str):
    # An exercise may rely on the notebook's imports and on the cells given with it, on nothing else.
    path, exercise = all_exercises()[name]
    names: dict = {}
    for source in (*_imports(path), *exercise.given, code):
        exec(compile(source, f"<{name}>", "exec"), names)
    return names[exercise.answer]


@cache
def _imports(path) -> tuple[str, ...]:
    found = []
    for cell in classroom.load(path).cells:
        if cell.cell_type == "code":
            source = "\n".join(line for line in cell.source.split("\n") if not line.startswith("%"))
            found += [ast.unparse(n) for n in ast.parse(source).body if isinstance(n, ast.Import | ast.ImportFrom)]
    return tuple(found)
