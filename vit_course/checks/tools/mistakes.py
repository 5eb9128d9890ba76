"""What goes wrong in an exercise, named by a result, by what an error or a shape says, or by a condition."""

import contextlib
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

from vit_course.checks.report import Wrong


class Slip:
    """One thing that people do wrong: its name, what was done, and one form of it or several.

    What a form is depends on who takes the slip: a wrong function, a wrong value of one step of the right function, a
    wrong number, or a condition. A lambda whose value is asked for names what it needs of what the check has seen.

    Args:
        slug: short and stable.
        sentence: what was done wrong, never what to write instead.
        forms: one or several.
    """

    def __init__(self, slug: str, sentence: str, *forms: Any):
        self.slug, self.sentence, self.forms = slug, sentence, forms

    def values(self, seen: Mapping) -> Iterator[Any]:
        """What each form is, by what the check has seen."""
        for form in self.forms:
            yield form(*(seen[name] for name in inspect.signature(form).parameters)) if _is_lambda(form) else form


def _is_lambda(form: Any) -> bool:
    return inspect.isfunction(form) and form.__name__ == "<lambda>"


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


def wrong_functions(
    slips: Sequence[Slip] | Mapping[str, Sequence[Slip]],
    right: Callable | None = None,
    pairs: int = 0,
    only: Sequence[str] = (),
) -> list[Mistake]:
    """The wrong functions that slips make, in their order; those with two slips come after all with one.

    Args:
        slips: whole wrong functions; or by step: under a keyword of the right function wrong values of it, and under
            "result" (or a name that begins so) whole wrong functions.
        right: the right function; not needed where there are no steps.
        pairs: so many slips of each step are also made together with those of another step.
        only: these steps alone, each slip by itself.
    """
    mistakes, often = [], []
    for step, rows in (slips if isinstance(slips, Mapping) else {"result": slips}).items():
        if only and step not in only:
            continue
        found = [(slip, form) for slip in rows for form in slip.forms]
        if step.startswith("result"):
            mistakes += [Mistake(slip.slug, slip.sentence, form) for slip, form in found]
            continue
        assert right is not None, "a step belongs to a right function"
        mistakes += [Mistake(slip.slug, slip.sentence, partial(right, **{step: form})) for slip, form in found]
        often.append([] if only else [(slip, {step: form}) for slip, form in found[:pairs]])
    for one, other in combinations(often, 2):
        for slip, wrong in one:
            for second, beside in other:
                both = partial(right, **wrong, **beside)
                sentence = f"Two things are wrong. {slip.sentence} {second.sentence}"
                mistakes.append(Mistake(f"{slip.slug}-and-{second.slug}", sentence, both))
    return mistakes


def by_value(slips: Sequence[Slip], seen: Mapping | None = None) -> dict[Any, tuple[str, str]]:
    """From each wrong value to its (slug, sentence); the first slip that has the value counts."""
    found: dict[Any, tuple[str, str]] = {}
    for slip in slips:
        for value in slip.values(seen or {}):
            found.setdefault(value, (slip.slug, slip.sentence))
    return found


def by_answer(
    slips: Mapping[str, Sequence[Slip]], seen: Mapping | None = None, right: Mapping | None = None
) -> dict[str, dict]:
    """The same for each answer of a dict, by its name; a lambda may also ask for the `right` answer of that name."""
    return {name: by_value(rows, {**(seen or {}), "right": (right or {}).get(name)}) for name, rows in slips.items()}


def refuse(slips: Sequence[Slip], seen: Mapping, details: Sequence[str] = (), **pictures: Any) -> None:
    """Raises `Wrong` by the first slip of which one condition is true; else nothing happens.

    A sentence may have slots for what was seen, such as {width}; `details` and `pictures` are those of the `Wrong`.
    """
    for slip in slips:
        if any(slip.values(seen)):
            raise Wrong(slip.slug, slip.sentence.format_map(seen), details, **pictures)


def refuse_number(slips: Sequence[Slip], received: float, seen: Mapping, details: Sequence[str]) -> None:
    """Raises `Wrong` by the first slip that has the number, to 0.01 %."""
    for value, said in by_value(slips, seen).items():
        if math.isclose(received, value, rel_tol=1e-4, abs_tol=1e-9):
            raise Wrong(*said, details)


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
