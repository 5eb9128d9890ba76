"""The decorator that turns a check into one line of a notebook: it never raises, and it keeps the score."""

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch

from vit_course.checks import scores
from vit_course.checks.draw import Draw
from vit_course.checks.limited import Outcome, learners_line, run_limited
from vit_course.checks.report import FAILED, NOT_ATTEMPTED, PASSED, NotAttempted, Parts, Report, Wrong

SECONDS = 20.0


@dataclass(frozen=True)
class Exercise:
    """What an exercise is called and what it is worth.

    Args:
        name: "chapter.exercise", as in `checks.chapter.exercise`.
        title: the words of its heading in the notebook.
        difficulty: 1 (one line), 2 (a few) or 3 (think first).
        minutes: for somebody who has read the chapter.
        points: in a classroom.
        check: the function.
    """

    name: str
    title: str
    difficulty: int
    minutes: int
    points: int
    check: Callable[..., Report]

    @property
    def chapter(self) -> str:
        """The part of the name before the dot."""
        return self.name.split(".")[0]


# In the order of the chapters, because `checks/__init__.py` imports them in that order.
EXERCISES: dict[str, Exercise] = {}


def exercise(title: str, difficulty: int, minutes: int, seconds: float = SECONDS):
    """Makes a function `check(answer, draw)` that raises `Wrong` into one that returns a `Report`.

    The check is called with the learner's object and a `Draw`; with `draw, parts` where it takes a third argument,
    for partial credit. It may raise `Wrong` or `NotAttempted`; any other exception is the learner's code's.

    Args:
        title, difficulty, minutes: see `Exercise`; points are twice the difficulty.
        seconds: the time limit of the whole check.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., Report]:
        chapter = function.__module__.split(".")[-2]  # the folder of the exercise's file
        name = f"{chapter}.{function.__name__}"
        takes_parts = function.__code__.co_argcount == 3

        @functools.wraps(function)
        def check(answer, *, seed: int = 0) -> Report:
            parts = Parts()

            def run():
                torch.manual_seed(seed)
                function(answer, Draw(seed), *([parts] if takes_parts else []))

            report = _verdict(name, run_limited(run, seconds), parts, seconds)
            if report.status != NOT_ATTEMPTED:
                message = scores.record(name, report.score)
                if message:
                    report = Report(**{**vars(report), "text": f"{report.text}\n{message}"})
            _draw_in_a_notebook(report)
            return report

        EXERCISES[name] = Exercise(name, title, difficulty, minutes, 2 * difficulty, check)
        return check

    return decorate


def _verdict(name: str, outcome: Outcome, parts: Parts, seconds: float) -> Report:
    error = outcome.error
    if outcome.interrupted:
        details = [f"It was then at {outcome.line}"] if outcome.line else []
        error = Wrong("interrupted", "The check was stopped before it came to an end.", details)
    if outcome.timed_out:
        error = _too_slow(outcome, seconds)
    if isinstance(error, NotAttempted):
        return Report(
            name, NOT_ATTEMPTED, 0.0, None, f"{name}: not attempted yet. Replace the line with NotImplementedError."
        )
    if error is not None and not isinstance(error, Wrong):
        error = raised(error)
    notes = [f"(Your code printed {outcome.printed} lines; the check does not show them.)"] if outcome.printed else []
    mistake = error or parts.first_mistake
    if mistake is None:
        return Report(name, PASSED, 1.0, None, "\n".join([f"{name}: passed.", *notes]))
    # What was right before the whole check broke off does not count: the parts after it are unknown.
    score = 0.0 if error is not None or not parts.results else parts.score
    lines = [f"{name}: not yet [{mistake.mistake}]"]
    if error is None and len(parts.results) > 1:
        for part, wrong in parts.results:
            lines.append(
                f"  right  {part}" if wrong is None else f"  wrong  {part} [{wrong.mistake}]: {wrong.sentence}"
            )
            lines.extend(f"           {detail}" for detail in (wrong.details if wrong else ()))
        lines.append(f"  score {score:.2f} of 1")
    else:
        lines += [mistake.sentence, *mistake.details]
    return Report(
        name, FAILED, score, mistake.mistake, "\n".join(lines + notes), mistake.expected, mistake.received
    )  # fmt: skip


def raised(error: BaseException) -> Wrong:
    """An exception of the learner's code as a `Wrong`, with the learner's own line."""
    where = learners_line(error)
    message = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {message[0]}" if message else type(error).__name__
    details = [f"{text}" + (f", at {where}" if where else "")]
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        return Wrong("tried-to-exit", "Your code tries to end the program.", details)
    if isinstance(error, RecursionError):
        return Wrong("endless-recursion", "Your code calls itself without end.", details)
    if isinstance(error, AttributeError) and "before Module.__init__() call" in str(error):
        return Wrong("no-super-init", "The constructor sets an attribute before the one of nn.Module has run.", details)
    return Wrong("raised-error", "Your code raised an error.", details)


def _too_slow(outcome: Outcome, seconds: float) -> Wrong:
    details = [f"It was then at {outcome.line}"] if outcome.line else []
    if outcome.still_running:
        details.append("It could not be stopped and still runs: restart the kernel when you have mended it.")
    return Wrong("never-returned", f"Your code did not return within {seconds:.0f} seconds.", details)


def _draw_in_a_notebook(report: Report) -> None:
    # Only where a picture can be shown: the kernel of a notebook has one of these, a test or a script has not.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or not hasattr(shell, "kernel"):
        return
    figure = report.figure()
    if figure is not None:
        from vit_course import plots

        plots.show(figure, alt=f"expected beside received, for {report.exercise}")
