"""Answers to the exercises, right and wrong, for test_answers.py; those to chapter.exercise in chapter/exercise.toml.

An answer is what a learner writes into the cell. Most are the worked solution with something replaced, a line each:

    [solution]                                      # of the notebook, or any other name with `code = '''...'''`
    wrong = [["no-scale", "/ d**0.5", ""]]          # the slug that the check must give it, old, new; further old, new
    unforeseen = [["softmax(-1)", "relu()"]]        # wrong, and no check knows it by name
    right = [["dim=-1", "dim=3"]]                   # as good

A `code` is itself a right answer, or a wrong one by `mistake = "its-slug"`, or `mistake = "unforeseen"`, or none by
`mistake = "not tried"`. What no learner's cell can hold, such as objects made to deceive, lies in chapter/exercise.py:
`@right("attention.weights")`, `@wrong("attention.weights", "no-scale")`, `@unforeseen("attention.weights")`.
"""

import importlib
import inspect
import math
import tomllib
from pathlib import Path

import numpy as np
import torch


class _Answers(dict):
    """The answers of one kind by exercise; its files, NAME.toml and NAME*.py, are read when it is first asked for."""

    def __missing__(self, exercise: str) -> list:
        chapter, name = exercise.split(".")
        folder = Path(__file__).parent / chapter
        for file in sorted(folder.glob(f"{name}*.py")):
            importlib.import_module(f"{__name__}.{chapter}.{file.stem}")
        for answers in (RIGHT, WRONG, UNFORESEEN):
            answers.setdefault(exercise, [])
        if (table := folder / f"{name}.toml").exists():
            _read(exercise, tomllib.loads(table.read_text(encoding="utf-8")))
        return self[exercise]


RIGHT, WRONG, UNFORESEEN = _Answers(), _Answers(), _Answers()
_CODE: dict[int, str] = {}  # of an answer from a table, by its id; the answers live as long


def _read(exercise: str, bases: dict) -> None:
    import exercises

    for name, base in bases.items():
        code = exercises.all_exercises()[exercise][1].solution if name == "solution" else base["code"]
        mistake = base.get("mistake", "not tried" if name == "solution" else "right")
        whole = {"right": RIGHT, "unforeseen": UNFORESEEN}.get(mistake, WRONG)
        if mistake != "not tried":
            _add(whole, exercise, code, *([mistake] if whole is WRONG else []))
        for kind, answers in (("right", RIGHT), ("unforeseen", UNFORESEEN)):
            for row in base.get(kind, ()):
                _add(answers, exercise, _replaced(code, row))
        for slug, *row in base.get("wrong", ()):
            _add(WRONG, exercise, _replaced(code, row), slug)


def _replaced(code: str, row: list[str]) -> str:
    for old, new in zip(row[::2], row[1::2], strict=True):
        assert old in code, f"{old!r} is not in\n{code}"
        code = code.replace(old, new)
    return code


def _add(answers: dict, exercise: str, code: str, *mistake: str) -> None:
    import exercises

    answer = exercises.made_by(exercise, code)
    _CODE[id(answer)] = code
    answers[exercise].append((answer, *mistake))


def code(answer) -> str | None:
    """The code of an answer from a table; None for the others, which no learner's cell can hold."""
    return _CODE.get(id(answer))


def source(answer) -> str:
    """The code of an answer; of a worked solution, which stands in its notebook, what it is called."""
    try:
        return code(answer) or inspect.getsource(answer)
    except (OSError, TypeError):
        return str(answer)


def right(exercise: str):
    """A correct answer."""
    return _into(RIGHT, exercise)


def wrong(exercise: str, mistake: str):
    """A wrong answer that people give."""
    return _into(WRONG, exercise, mistake)


def unforeseen(exercise: str):
    """A wrong answer that the check has no name for."""
    return _into(UNFORESEEN, exercise)


def same_as(exercise: str, earlier: str) -> None:
    """All the answers to an earlier exercise, which asks for the same."""
    for answers in (RIGHT, WRONG, UNFORESEEN):
        answers.setdefault(exercise, []).extend(answers[earlier])


def reported(exercise: str, measured: dict, *lists: str, fewest: int = 3, percent: bool = True) -> None:
    """The ways to report an experiment that every check takes, and those that every check must refuse by name.

    Args:
        exercise: its right answer is a dict of lists of numbers and of words.
        measured: a right answer.
        lists: the names of the lists.
        fewest: how many numbers a list needs.
        percent: whether the numbers are shares, so that they may be given as percentages by mistake.
    """

    def each(change) -> dict:
        return {name: change(measured[name]) for name in lists}

    words = {name: said for name, said in measured.items() if isinstance(said, str)}
    kinds = [each(kind) for kind in (tuple, np.array, torch.tensor)]
    kinds.append({name: f" {said.replace(' ', '-').capitalize()} " for name, said in words.items()})
    kinds.append({name: said.replace(" ", "_").upper() for name, said in words.items()})
    for changes in kinds:
        right(exercise)(lambda changes=changes: measured | changes)

    first, last = lists[0], [*words][-1]
    refused = [("too-few-runs", each(lambda numbers: numbers[: fewest - 1])), ("wrong-keys", {"started": "at noon"})]
    refused += [("no-such-option", {last: said}) for said in ("perhaps", None, True, 0.09)]
    for numbers in (measured[first][0], "0.9", [str(number) for number in measured[first]], [None] * fewest):
        refused.append(("wrong-type", {first: numbers}))
    for number in (math.nan, math.inf, -measured[first][0]):
        refused.append(("not-possible", {first: [number, *measured[first][1:]]}))
    if percent:
        refused.append(("percent", {first: [100 * number for number in measured[first]]}))
    for mistake, changes in refused:
        wrong(exercise, mistake)(lambda changes=changes: measured | changes)
    wrong(exercise, "returned-nothing")(lambda: None)
    wrong(exercise, "wrong-type")(lambda: [*measured.values()])
    wrong(exercise, "wrong-keys")(lambda: {first: measured[first]})


def _into(answers, exercise, *rest):
    def register(answer):
        answers.setdefault(exercise, []).append((answer, *rest))
        return answer

    return register
