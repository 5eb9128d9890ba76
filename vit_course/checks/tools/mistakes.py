"""Mistakes with names, recognised by a result, by an error or a wrong shape, by a number or by a condition."""

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from types import SimpleNamespace
from typing import Any, NamedTuple

from vit_course.checks.report import Wrong


class Mistake:
    """One thing that people do wrong: its name, what was done, and one form of it or several.

    Where a mistake stands says what its forms are:

    - in a list for `same_function`: a wrong function, or a dict of wrong steps, by the keywords of the right function;
    - in a list for `refuse`: a condition, a function of one object that has all that the check has seen;
    - in a list of numbers (`by_value`, `refuse_number`, `count_parameters`): a wrong number, shape or choice;
    - in a list for `rerun`: a function of setting and source that gives the wrong number.

    Args:
        slug: short and stable.
        sentence: what was done wrong, never what to write instead.
        forms: one or several.
    """

    def __init__(self, slug: str, sentence: str, *forms: Any):
        self.slug, self.sentence, self.forms = slug, sentence, forms

    def functions(self, right: Callable | None = None) -> list[Callable]:
        """The wrong functions, where a dict of steps replaces those of the right one."""
        return [partial(right, **form) if isinstance(form, dict) else form for form in self.forms]


def map_functions(
    mistakes: Sequence[Mistake], change: Callable[[Callable], Callable], right: Callable | None = None
) -> list[Mistake]:
    """The same mistakes, where `change` makes another function of each wrong one; `right` is as in `functions`."""
    return [Mistake(one.slug, one.sentence, *map(change, one.functions(right))) for one in mistakes]


def by_results(mistakes: Sequence[Mistake], right: Callable | None = None) -> list[Mistake]:
    """The same mistakes, recognised by their results alone.

    Without it, a wrong function that raises an error is recognised by that error too, which may have other causes.
    """

    def without_errors(function: Callable) -> Callable:
        return partial(_result, function)

    return map_functions(mistakes, without_errors, right)


def bugs_left(*bugs: Mistake) -> list[Mistake]:
    """What learners hand in before they have repaired all bugs: how many they have, and which one if one is left.

    Args:
        bugs: of the faulty version, each with one dict of wrong steps.
    """
    number = len(bugs)
    found = [Mistake("still-faulty", bugs_repaired(0, number), _together(bugs))]
    for left in range(number - 1, 1, -1):
        forms = [_together(some) for some in combinations(bugs, left)]
        found.append(Mistake("bugs-left", bugs_repaired(number - left, number), *forms))
    last = f"{bugs_repaired(number - 1, number)} "
    return [*found, *(Mistake(bug.slug, last + bug.sentence, *bug.forms) for bug in bugs if number > 1)]


def bugs_repaired(repaired: int, number: int) -> str:
    """The sentence that says how many bugs of a faulty version are repaired, and never which."""
    if repaired:
        return f"{repaired} of the {number} bugs {'is' if repaired == 1 else 'are'} repaired."
    some = "The bug of the faulty version is" if number == 1 else f"The {number} bugs of the faulty version are"
    return f"{some} still there."


def _together(mistakes: Sequence[Mistake]) -> dict[str, Any]:
    return {step: wrong for mistake in mistakes for step, wrong in mistake.forms[0].items()}


def _result(function: Callable, *arguments):
    try:
        return function(*arguments)
    except Exception:
        raise LookupError("a mistake that is known by its result has none") from None


def by_value(mistakes: Sequence[Mistake]) -> dict[Any, tuple[str, str]]:
    """From each wrong value to its (slug, sentence); the first mistake that has the value counts."""
    found: dict[Any, tuple[str, str]] = {}
    for mistake in mistakes:
        for value in mistake.forms:
            found.setdefault(value, (mistake.slug, mistake.sentence))
    return found


def by_answer(mistakes: Mapping[str, Sequence[Mistake]]) -> dict[str, dict]:
    """`by_value` for each answer of a dict, by its name."""
    return {name: by_value(rows) for name, rows in mistakes.items()}


def refuse(mistakes: Sequence[Mistake], details: Sequence[str] = (), **seen: Any) -> None:
    """Raises `Wrong` for the first mistake that has a true condition; returns if there is none.

    A sentence may have slots for what was seen, such as {width}; `details` are those of the `Wrong`.
    """
    known = SimpleNamespace(**seen)
    for mistake in mistakes:
        if any(condition(known) for condition in mistake.forms):
            raise Wrong(mistake.slug, mistake.sentence.format_map(seen), details)


def refuse_number(mistakes: Sequence[Mistake], received: float, details: Sequence[str]) -> None:
    """Raises `Wrong` by the first mistake that has the number, to 0.01 %."""
    for value, named in by_value(mistakes).items():
        if math.isclose(received, value, rel_tol=1e-4, abs_tol=1e-9):
            raise Wrong(*named, details)


class Known(NamedTuple):
    """A known error or wrong shape: a pattern for the details, a slug, a sentence."""

    pattern: str
    slug: str
    sentence: str


@contextlib.contextmanager
def named_by_details(*known: Known, of: Sequence[str] = ("raised-error", "wrong-shape")) -> Iterator[None]:
    """Renames a generic `Wrong` that is raised inside, by the first `Known` whose pattern is in one of its details."""
    try:
        yield
    except Wrong as wrong:
        for pattern, slug, sentence in known:
            if wrong.mistake in of and any(re.search(pattern, line) for line in wrong.details):
                raise Wrong(slug, sentence, wrong.details, wrong.expected, wrong.received) from None
        raise
