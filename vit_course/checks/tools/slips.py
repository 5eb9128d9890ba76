"""Names what a learner's code did by its results alone, or by what its error or its shape says."""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from vit_course.checks.report import Wrong


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that people give: what it computes, and the sentence that says what was done.

    Args:
        slug: short and stable.
        sentence: what was done wrong; never what to write instead.
        function: the wrong function, called with the same arguments as the learner's; it may raise.
    """

    slug: str
    sentence: str
    function: Callable


def by_results(mistakes: Sequence[Mistake]) -> list[Mistake]:
    """The same mistakes, found by their results alone: one error may have many causes."""
    return [Mistake(one.slug, one.sentence, partial(_result, one.function)) for one in mistakes]


def _result(function: Callable, *arguments):
    try:
        return function(*arguments)
    except Exception:
        raise LookupError("a mistake that is known by its result has none") from None


class Known(NamedTuple):
    """What an error or a shape of the learner's says: a pattern in the details, a slug, a sentence."""

    pattern: str
    slug: str
    sentence: str


@contextlib.contextmanager
def named_by_details(*known: Known, of: Sequence[str] = ("raised-error", "wrong-shape")) -> Iterator[None]:
    """Gives a generic `Wrong` raised inside the name of the first `Known` whose pattern is in one of its details."""
    try:
        yield
    except Wrong as wrong:
        for pattern, slug, sentence in known:
            if wrong.mistake in of and any(re.search(pattern, line) for line in wrong.details):
                raise Wrong(slug, sentence, wrong.details, wrong.expected, wrong.received) from None
        raise
