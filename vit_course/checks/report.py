"""The verdict on one exercise, and the error by which a check reaches it."""

import os
from dataclasses import dataclass, field

import torch

PANELS = "VIT_COURSE_PANELS"  # the environment variable that is "off" where all verdicts are shown as text
PASSED, FAILED, NOT_ATTEMPTED = "passed", "failed", "not attempted"


@dataclass(frozen=True)
class Report:
    """What a check found. `print` shows it as text; as the last line of a notebook's cell it is a panel.

    Args:
        exercise: such as "attention.weights".
        status: "passed", "failed" or "not attempted".
        score: from 0 to 1; a fraction where an exercise gives partial credit.
        mistake: a short stable name of what was done wrong, such as "softmax-over-queries", or None; for teachers and
            tests, and not shown to the learner.
        sentence: what was done wrong, or what to do first; "" where all is right.
        details: further lines, such as "Expected: (2, 3)".
        parts: of an exercise that gives partial credit: its parts, each with what is wrong there, or None.
        notes: on the check itself, such as that progress could not be saved.
        next: what to do now.
        expected, received: the two tensors that differ, for a picture; None where a picture would not help.
        heading: of the exercise, such as "4.1 Weights with a mask", for the panel.
    """

    exercise: str
    status: str
    score: float
    mistake: str | None = None
    sentence: str = ""
    details: tuple[str, ...] = ()
    parts: tuple[tuple[str, "Wrong | None"], ...] = ()
    notes: tuple[str, ...] = ()
    next: str = ""
    expected: torch.Tensor | None = field(default=None, repr=False, compare=False)
    received: torch.Tensor | None = field(default=None, repr=False, compare=False)
    heading: str = field(default="", repr=False, compare=False)

    @property
    def verdict(self) -> str:
        """ "passed", "in part, 0.50 of 1", "not yet" or "not attempted yet"."""
        if self.status != FAILED:
            return self.status if self.status == PASSED else f"{self.status} yet"
        return f"in part, {self.score:.2f} of 1" if self.score > 0 else "not yet"

    @property
    def wrong_first(self) -> list[tuple[str, "Wrong | None"]]:
        """The parts in the order in which they are shown: the wrong ones first."""
        return sorted(self.parts, key=lambda part: part[1] is None)

    @property
    def text(self) -> str:
        """The whole report as text for the learner."""
        lines = [f"{self.exercise}: {self.verdict}."]
        if self.parts:
            for part, wrong in self.wrong_first:
                lines.append(f"  right  {part}" if wrong is None else f"  wrong  {part}: {wrong.sentence}")
                lines += [f"           {detail}" for detail in (wrong.details if wrong else ())]
        else:
            lines += [self.sentence, *self.details]
        if self.next:
            lines.append(f"Next: {self.next}")
        return "\n".join([line for line in lines if line] + list(self.notes))

    def __str__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **_) -> dict[str, str]:
        # An untouched stub has nothing to show in colour. Stored chapters hold text alone, which the tests compare.
        if self.status == NOT_ATTEMPTED or os.environ.get(PANELS) == "off":
            return {"text/plain": self.text}
        from vit_course.checks.panel import panel

        return {"text/plain": self.text, "text/html": panel(self)}

    def figure(self):
        """Expected beside received, as a matplotlib Figure; None where there is nothing to draw."""
        if self.expected is None or self.received is None:
            return None
        from vit_course import plots

        return plots.expected_and_received(self.expected, self.received)


class Wrong(Exception):
    """Ends a check: one mistake, named.

    Args:
        mistake: the slug.
        sentence: what was done wrong, in one sentence, without the answer.
        details: further lines, such as shapes expected and received.
        expected, received: tensors for the picture.
    """

    def __init__(
        self,
        mistake: str,
        sentence: str,
        details: tuple[str, ...] | list[str] = (),
        expected: torch.Tensor | None = None,
        received: torch.Tensor | None = None,
    ):
        super().__init__(sentence)
        self.mistake, self.sentence, self.details = mistake, sentence, tuple(details)
        self.expected, self.received = expected, received


class NotAttempted(Exception):
    """Ends a check: the stub has not been filled in."""


@dataclass
class Parts:
    """Collects the parts of an exercise that gives partial credit.

    `with parts("patches"):` runs one part; a `Wrong` inside it costs that part alone.
    """

    results: list[tuple[str, Wrong | None]] = field(default_factory=list)

    def __call__(self, name: str) -> "Parts":
        self._name = name
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind, error, traceback) -> bool:
        if error is None or isinstance(error, Wrong):
            self.results.append((self._name, error and self._said_once(error)))
            return True
        return False

    def _said_once(self, wrong: Wrong) -> Wrong:
        # One mistake may show in several parts: all but the first only refer to it. A sentence on another part is kept.
        if wrong.mistake.startswith(("follows-from-", "wrong-answer")):
            return wrong
        for name, before in self.results:
            if before and (before.mistake, str(before), before.details) == (wrong.mistake, str(wrong), wrong.details):
                return Wrong(wrong.mistake, f"The same as in {name}.", (), wrong.expected, wrong.received)
        return wrong

    @property
    def score(self) -> float:
        """The share of the parts that are right."""
        return sum(error is None for _, error in self.results) / len(self.results)

    @property
    def first_mistake(self) -> Wrong | None:
        """The first part that is wrong, or None."""
        return next((error for _, error in self.results if error is not None), None)
