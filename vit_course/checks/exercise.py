"""Turns the function of a check into one line of a notebook: it never raises, and it keeps the score."""

import functools
import importlib
import inspect
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from vit_course.checks import kernel_watch, saved_progress
from vit_course.checks.draw import Draw
from vit_course.checks.errors import in_words, raised
from vit_course.checks.report import FAILED, NOT_ATTEMPTED, PASSED, NotAttempted, Parts, Report, Wrong
from vit_course.checks.timeout import Outcome, run_limited

SECONDS = 20.0


@dataclass(frozen=True)
class Exercise:
    """What an exercise is called and what it is worth.

    Args:
        name: "folder.exercise", as in `checks.folder.exercise`: it stays when an exercise moves to another chapter.
        number: such as "4.1": the chapter, and the place in it.
        title: the words of its heading in the notebook.
        section: the heading in the same notebook under which what it asks for is taught.
        difficulty: 1 (one line), 2 (a few) or 3 (think first).
        minutes: for somebody who has read the chapter.
        points: in a classroom.
        draws: whether its inputs are drawn at random; if not, another seed changes nothing.
        check: the function.
    """

    name: str
    number: str
    title: str
    section: str
    difficulty: int
    minutes: int
    points: int
    draws: bool
    check: Callable[..., Report]

    @property
    def chapter(self) -> int:
        """The part of the number before the dot."""
        return int(self.number.split(".")[0])


LISTED = tomllib.loads(Path(__file__).with_name("exercises.toml").read_text(encoding="utf-8"))
# In the order of their numbers.
EXERCISES: dict[str, Exercise] = {}
# How often each mistake was made in an exercise in this kernel, by which the next hint is chosen.
_failures: Counter[tuple[str, str]] = Counter()


def load_exercises(package: str) -> list[str]:
    """Loads the exercises of exercises.toml, sets each check as an attribute of its folder; returns the folders' names.

    Args:
        package: the full name of the package that holds the folders.
    """
    folders: dict[str, list[str]] = {}
    for name, row in LISTED["exercises"].items():
        folder, own = name.split(".")
        check = vars(importlib.import_module(f"{package}.{name}"))[own]
        EXERCISES[name] = _exercise(name, check, *row)
        folders.setdefault(folder, []).append(own)
        module = importlib.import_module(f"{package}.{folder}")
        module.__all__ = folders[folder]
        setattr(module, own, EXERCISES[name].check)  # replaces the submodule of the same name
    return [*folders]


def _exercise(name, function, number, title, section, difficulty, minutes, seconds=SECONDS) -> Exercise:
    # Turns a function `check(answer, draw, parts)` that raises `Wrong` into one that returns a `Report`. It is called
    # with the learner's object and, if its signature has them, `draw`, a `Draw` of its inputs, and `parts`, for partial
    # credit. It may raise `Wrong` or `NotAttempted`; any other exception comes from the learner's code.
    takes = inspect.signature(function).parameters.keys() & {"draw", "parts"}

    @functools.wraps(function, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
    def check(answer, *, seed: int = 0) -> Report:
        failed = kernel_watch.failed_cell()
        if failed:
            return Report(name, NOT_ATTEMPTED, 0.0, mistake="cell-failed", sentence=failed)
        parts = Parts()

        def run():
            torch.manual_seed(seed)
            offered = {"draw": Draw(seed), "parts": parts}
            function(answer, **{one: offered[one] for one in takes})

        report = _verdict(EXERCISES[name], run_limited(run, seconds), parts, seconds)
        message = "" if report.status == NOT_ATTEMPTED else saved_progress.record(name, report.score)
        notes = (*report.notes, message) if message else report.notes
        return replace(report, notes=notes, heading=f"{number} {title}")

    # `help` and the reference show how a learner calls it, without `draw` and `parts`.
    check.__signature__ = inspect.signature(check, follow_wrapped=False)
    return Exercise(name, number, title, section, difficulty, minutes, 2 * difficulty, "draw" in takes, check)


def _verdict(exercise: Exercise, outcome: Outcome, parts: Parts, seconds: float) -> Report:
    error = outcome.error
    if outcome.interrupted:
        details = [f"It was then at {outcome.line}"] if outcome.line else []
        error = Wrong("interrupted", "The check was stopped before it came to an end.", details)
    if outcome.busy:
        return Report(exercise.name, NOT_ATTEMPTED, 0.0, mistake="machine-busy", sentence=_busy(outcome, seconds))
    if outcome.timed_out:
        error = _too_slow(outcome, seconds)
    if isinstance(error, NotAttempted):
        sentence = "Replace the line that raises NotImplementedError with your own code."
        return Report(exercise.name, NOT_ATTEMPTED, 0.0, sentence=sentence)
    if error is not None and not isinstance(error, Wrong):
        error = raised(error)
    lines = "one line" if outcome.printed == 1 else f"{outcome.printed} lines"
    notes = (f"(Your code printed {lines}; the check does not show them.)",) if outcome.printed else ()
    mistake = error or parts.first_mistake
    if mistake is None:
        return Report(exercise.name, PASSED, 1.0, notes=notes, next=_next_exercise(exercise))
    mistake = in_words(mistake)
    # Where the whole check was aborted, the parts that passed before do not count: the rest is unknown.
    whole = error is not None or len(parts.results) < 2
    return Report(
        exercise=exercise.name,
        status=FAILED,
        score=0.0 if error is not None or not parts.results else parts.score,
        mistake=mistake.mistake,
        sentence=mistake.sentence,
        details=mistake.details,
        parts=() if whole else tuple(parts.results),
        notes=notes,
        next=_next_step(exercise, mistake.mistake),
        expected=mistake.expected,
        received=mistake.received,
    )


def _next_exercise(exercise: Exercise) -> str:
    names = list(EXERCISES)
    after = names[names.index(exercise.name) + 1 :][:1]
    if not after:
        return ""
    number, title = EXERCISES[after[0]].number, EXERCISES[after[0]].title
    return f"Exercise {number}, {title}" + ("" if title.endswith("?") else ".")


def _next_step(exercise: Exercise, mistake: str) -> str:
    # Whoever makes the same mistake again in a notebook is sent to the next hint, and for a new mistake to the first.
    # Outside a notebook, no learner has read the last one.
    if kernel_watch.kernel():
        _failures[exercise.name, mistake] += 1
    hint = min(max(_failures[exercise.name, mistake], 1), 3)
    last = ", or its solution" if hint == 3 else ""
    return f'Hint {hint} of Exercise {exercise.number}{last}; the section "{exercise.section}".'


def _too_slow(outcome: Outcome, seconds: float) -> Wrong:
    details = [f"It was then at {outcome.line}"] if outcome.line else []
    if outcome.still_running:
        details.append("It could not be stopped and is still running: restart the kernel when you have fixed it.")
    if outcome.used < seconds:
        sentence = "Your code did not return and hardly used the processor: it is waiting for something."
        return Wrong("never-returned", sentence, details)
    sentence = f"Your code did not return within {seconds:.0f} seconds of processor time."
    return Wrong("never-returned", sentence, details)


def _busy(outcome: Outcome, seconds: float) -> str:
    had = f"your code got {outcome.used:.0f} of the {seconds:.0f} seconds of processor time that this check allows"
    return f"The machine is busy: {had}. This does not count; run the check again when the machine is less busy."
