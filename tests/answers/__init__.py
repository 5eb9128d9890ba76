"""Answers to the exercises, right and wrong, for test_checks.py: those to chapter.exercise lie in chapter/exercise.py.

`@right("attention.weights")` marks a correct answer, `@wrong("attention.weights", "no-scale")` a wrong one with the
slug that the check must give it, `@unforeseen("attention.weights")` a wrong one that no check knows by name.
"""

import importlib
import math
from pathlib import Path

import numpy as np
import torch


class _Answers(dict):
    """The answers of one kind by exercise; its files, NAME.py and NAME_more.py, are read when it is first asked for."""

    def __missing__(self, exercise: str) -> list:
        chapter, name = exercise.split(".")
        for file in sorted(Path(__file__).parent.glob(f"{chapter}/{name}*.py")):
            importlib.import_module(f"{__name__}.{chapter}.{file.stem}")
        return self.setdefault(exercise, [])


RIGHT, WRONG, UNFORESEEN = _Answers(), _Answers(), _Answers()


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
