"""The exercises as the notebooks hold them, for tests."""

import importlib
from functools import cache

import nbformat
from conftest import ROOT

from vit_course.teaching.classroom.exercises import exercises_of

# The exercises whose solutions another exercise uses.
PARTS = {
    "capstone.block": ["capstone.attention"],
    "capstone.vit": ["capstone.patches", "capstone.tokens", "capstone.attention", "capstone.block"],
}
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@cache
def cells_of(path) -> list:
    """The cells of a notebook."""
    return nbformat.read(path, as_version=4).cells


@cache
def all_exercises() -> dict:
    """name -> (notebook path, ExerciseCells), in the order of the notebooks."""
    return {
        exercise.name: (path, exercise)
        for path in NOTEBOOKS
        for exercise in exercises_of(nbformat.read(path, as_version=4))
    }


def stub(name: str):
    """The object that the learner's cell defines, untouched."""
    return made_by(name, all_exercises()[name][1].stub_code)


def solution(name: str):
    """The object that the worked solution defines."""
    return made_by(name, all_exercises()[name][1].solution)


def made_by(name: str, code: str):
    """The object that the exercise's cell defines, with this code in place of the learner's."""
    names = dict(given_names(name))
    exec(compile(code, f"<{name}>", "exec"), names)
    return names[all_exercises()[name][1].answer]


def given(name: str) -> list[str]:
    """The code that an exercise may use: the first cell of its section, those given with it, solutions of its parts."""
    path, exercise = all_exercises()[name]
    return [_imports(path), *exercise.given, *(all_exercises()[one][1].solution for one in PARTS.get(name, ()))]


@cache
def given_names(name: str) -> dict:
    """What the code of `given` defines, by name."""
    names: dict = {}
    for source in given(name):
        exec(compile(source, f"<{name}>", "exec"), names)
    return names


def repeats_runs(name: str) -> bool:
    """Whether a check trains or measures again what an answer reports, which takes seconds for each answer."""
    return hasattr(importlib.import_module(f"vit_course.checks.{name}"), "rerun")


@cache
def _imports(path) -> str:
    cells = cells_of(path)
    section = next(i for i, cell in enumerate(cells) if cell.source.startswith("## Exercises"))
    return next(cell.source for cell in cells[section:] if cell.cell_type == "code")
