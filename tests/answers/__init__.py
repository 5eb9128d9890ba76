"""Answers to the exercises, right and wrong, each exercise's in its CHAPTER/EXERCISE.py, as learners write them.

    answers = Answers("attention.weights")

    answers.edits(  # of the worked solution, where one token differs: the name of the mistake, old, new
        ("softmax-over-queries", "dim=-1", "dim=2"),
        (UNKNOWN, "0.5", "0.4"),
    )


    @answers.wrong("no-scale")
    def no_scale(q, k, keep): ...

A right answer stands below `@answers.right`, and below `@answers.wrong(UNKNOWN)` a wrong one that gets a general
sentence, because no mistake of its own and none of the usual ones fits.
"""

import functools
import importlib
import inspect
import io
import math
import tokenize
from collections.abc import Callable

import exercises
import numpy as np
import torch

UNKNOWN = "unknown"  # in place of the name of a mistake
_SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


class Answers:
    """The answers to one exercise.

    Args:
        exercise: its name, such as "attention.weights".
    """

    def __init__(self, exercise: str):
        self.exercise = exercise
        self.rights: list[Callable] = []
        self.wrongs: list[tuple[str, Callable]] = []  # with the names of their mistakes
        self.edited: list[str] = []  # the code of the edited solutions

    def right(self, answer):
        """A correct answer."""
        self.rights.append(answer)
        return answer

    def wrong(self, mistake: str):
        """A wrong answer, and the name that the check must give it."""

        def add(answer):
            self.wrongs.append((mistake, answer))
            return answer

        return add

    def edits(self, *edits: tuple[str, str, str]) -> None:
        """Wrong answers: the worked solution with one token replaced, added or left out, or a name replaced throughout.

        Args:
            edits: (the name of the mistake, old, new).
        """
        solution = exercises.all_exercises()[self.exercise][1].solution
        for mistake, old, new in edits:
            assert old in solution, f"{old!r} is not in\n{solution}"
            code = solution.replace(old, new)
            assert _differ_by_one(_tokens(solution), _tokens(code)), f"more than a token: use @answers.wrong\n{code}"
            self.edited.append(code)
            answer = exercises.made_by(self.exercise, code)
            answer.code = code
            self.wrong(mistake)(answer)

    def given(self, *names: str) -> list:
        """What the notebook defines before the exercise, by name."""
        defined = exercises.given_names(self.exercise)
        return [defined[name] for name in names]

    def reported(self, measured: dict, *lists: str, fewest: int = 3, percent: bool = True) -> None:
        """The ways to report an experiment that every check takes, and those that every check must refuse by name.

        Args:
            measured: a right answer, a dict of lists of numbers and of words.
            lists: the names of the lists.
            fewest: how many numbers a list needs.
            percent: whether the numbers are shares, so that they may be given as percentages by mistake.
        """
        self.right(lambda: measured)
        words = {name: said for name, said in measured.items() if isinstance(said, str)}
        kinds = [{name: kind(measured[name]) for name in lists} for kind in (tuple, np.array, torch.tensor)]
        kinds.append({name: f" {said.replace(' ', '-').capitalize()} " for name, said in words.items()})
        kinds.append({name: said.replace(" ", "_").upper() for name, said in words.items()})
        for changes in kinds:
            self.right(lambda changes=changes: measured | changes)
        first, last = lists[0], [*words][-1]
        numbers = measured[first]
        refused = [("too-few-runs", {name: measured[name][: fewest - 1] for name in lists})]
        refused += [("wrong-keys", {"started": "at noon"}), ("no-such-option", {last: "perhaps"})]
        refused += [("wrong-type", {first: numbers[0]}), ("wrong-type", {first: [str(number) for number in numbers]})]
        refused += [("not-possible", {first: [number, *numbers[1:]]}) for number in (math.nan, -numbers[0])]
        if percent:
            refused.append(("percent", {first: [100 * number for number in numbers]}))
        for mistake, changes in refused:
            self.wrong(mistake)(lambda changes=changes: measured | changes)


def _tokens(code: str) -> list[str]:
    """The tokens of code without comments, line ends and indents; a sign is part of the number behind it."""
    read = tokenize.generate_tokens(io.StringIO(code).readline)
    found: list[str] = []
    for token in (token.string for token in read if token.type not in _SKIPPED):
        before = found[-2] if len(found) > 1 else "("
        if found and found[-1] == "-" and token[0].isdigit() and not (before[-1].isalnum() or before[-1] in ")]"):
            found[-1] += token
        else:
            found.append(token)
    return found


def _differ_by_one(right: list[str], wrong: list[str]) -> bool:
    if len(right) == len(wrong):
        return len({pair for pair in zip(right, wrong, strict=True) if pair[0] != pair[1]}) == 1
    shorter, longer = sorted((right, wrong), key=len)
    return any(shorter == longer[:place] + longer[place + 1 :] for place in range(len(longer)))


def code_of(answer) -> str:
    """The code of an answer; of a lambda in a table, the line that it stands in; of a worked solution, its name."""
    try:
        return getattr(answer, "code", None) or inspect.getsource(answer)
    except (OSError, TypeError):
        return str(answer)


@functools.cache
def of(exercise: str) -> Answers:
    """The answers to an exercise, such as "attention.weights"."""
    return importlib.import_module(f"{__name__}.{exercise}").answers
