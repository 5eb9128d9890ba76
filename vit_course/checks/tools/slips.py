"""Lists the mistakes of a function whose steps can each go wrong: every slip alone, then every two together."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

from vit_course.checks.report import Wrong
from vit_course.checks.tools.functions import Mistake


class Slip(NamedTuple):
    """One step done wrongly: the value of the step's keyword, a slug, and a whole sentence that says what was done."""

    value: object
    slug: str
    sentence: str


def slips(function: Callable, steps: Mapping[str, Sequence[tuple]], likely: int = 2) -> list[Mistake]:
    """The mistakes of `function(*arguments, step=value, ...)`, whose defaults are right.

    Args:
        function: the right one, with a keyword for each step.
        steps: the slips of each step, `Slip`s or tuples of the same; the likely ones first.
        likely: of each step so many are also looked for together with those of another step.
    """
    single = [(step, Slip(*slip)) for step, found in steps.items() for slip in found]
    often = [(step, Slip(*slip)) for step, found in steps.items() for slip in found[:likely]]
    mistakes = [Mistake(slip.slug, slip.sentence, partial(function, **{step: slip.value})) for step, slip in single]
    for (step, slip), (other_step, other) in combinations(often, 2):
        if step != other_step:
            both = partial(function, **{step: slip.value, other_step: other.value})
            sentence = f"Two things are wrong. {slip.sentence} {other.sentence}"
            mistakes.append(Mistake(f"{slip.slug}-and-{other.slug}", sentence, both))
    return mistakes


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
