"""The verdict on one exercise, and the error by which a check reaches it."""

from dataclasses import dataclass, field

import torch

PASSED, FAILED, NOT_ATTEMPTED = "passed", "failed", "not attempted"


@dataclass(frozen=True)
class Report:
    """What a check found. `print` shows its text.

    Args:
        exercise: such as "attention.weights".
        status: "passed", "failed" or "not attempted".
        score: from 0 to 1; between them where an exercise has parts.
        mistake: a short stable name of what was done wrong, such as "softmax-over-queries", or None.
        text: for the learner.
        expected, received: where they part, for a picture; None where a picture would not help.
    """

    exercise: str
    status: str
    score: float
    mistake: str | None
    text: str
    expected: torch.Tensor | None = field(default=None, repr=False, compare=False)
    received: torch.Tensor | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return self.text

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
    """Ends a check: the stub is as it was."""


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
            self.results.append((self._name, error))
            return True
        return False

    @property
    def score(self) -> float:
        """The share of the parts that are right."""
        return sum(error is None for _, error in self.results) / len(self.results)

    @property
    def first_mistake(self) -> Wrong | None:
        """The first part that is wrong, or None."""
        return next((error for _, error in self.results if error is not None), None)
