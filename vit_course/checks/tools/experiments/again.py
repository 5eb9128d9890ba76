"""Makes some of a learner's runs again and says which differs: what a report rests on is what can be repeated."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import torch

from vit_course.checks.draw import Draw
from vit_course.checks.report import Wrong
from vit_course.checks.tools.table import values
from vit_course.checks.tools.words import describe

Run = Mapping[str, object]  # what one run is called by: its setting, and its seed or photograph


def seeds(given, fewest: int, name: str = "seeds") -> list[int]:
    """The learner's seeds, no two the same."""
    given = given.tolist() if isinstance(given, (torch.Tensor, np.ndarray)) else given
    whole = isinstance(given, (list, tuple, range)) and all(type(one) is int and one >= 0 for one in given)
    if not whole:
        raise Wrong("wrong-type", f"{name!r} is {describe(given)} where a list of seeds (whole numbers) is expected.")
    return _different(list(given), name, fewest, "seed")


def chosen(given, options: Iterable[str], fewest: int, name: str = "photographs") -> list[str]:
    """The names that the learner chose among some, no two the same."""
    options = sorted(options)
    if isinstance(given, str) or not isinstance(given, (list, tuple)):
        raise Wrong("wrong-type", f"{name!r} is {describe(given)} where a list of names is expected.")
    for one in given:
        if one not in options:
            raise Wrong("no-such-option", f"{name!r} holds {describe(one)}, not one of {', '.join(options)}.")
    return _different(list(given), name, fewest, "name")


def _different(given: list, name: str, fewest: int, what: str) -> list:
    if len(given) < fewest:
        raise Wrong("too-few-runs", f"{name!r} has {len(given)}; the exercise asks for at least {fewest}.")
    if len(set(given)) < len(given):
        raise Wrong("one-run-repeated", f"A {what} appears twice in {name!r}: a repeated run is not a second run.")
    return given


def last_digit(numbers: Sequence[float]) -> float:
    """Half a unit of the last digit to which all of these are given, from two digits to four: what rounding changes."""
    places = next((n for n in (2, 3) if all(round(number, n) == number for number in numbers)), 4)
    return 0.5 * 10**-places


def made_again(
    module: str,
    reported: Mapping[object, Sequence[float]],
    each: Mapping[str, Sequence],
    measure: Callable[..., float],
    draw: Draw,
    near: float,
    runs: int = 1,
    only: Sequence | None = None,
) -> None:
    """Raises `Wrong` where a run, made again, gives another number than the learner's.

    Args:
        module: the check's `__name__`; the rows of its table "again", if it has one, are what slips give in the place
            of the right number. They see `setting`, `source` and what the check's module has.
        reported: a list of numbers for each setting, one for each source, in their order.
        each: one entry, from the word for a source ("seed", "photograph") to the learner's sources.
        measure: (setting, source) -> the right number.
        draw: of the check: which runs are made again.
        near: how far two numbers may lie apart: what rounding and another machine may change.
        runs: how many are made again.
        only: the settings among which they are drawn, where others take too long.
    """
    ((word, sources),) = each.items()
    for _ in range(runs):
        setting, place = draw.choose(list(only or reported)), draw.choose(range(len(sources)))
        source, received = sources[place], reported[setting][place]
        right = measure(setting, source)
        if abs(received - right) <= near:
            continue
        details = [f"Run:      {setting!r}, {word} {source}", f"Expected: about {right:.3g}"]
        details.append(f"Received: {received:.3g}")
        raise _named(module, received, near, {"setting": setting, "source": source}, details)


def _named(module: str, received: float, near: float, seen: Mapping, details: Sequence[str]) -> Wrong:
    try:
        slips = values(module, "again", seen)
    except KeyError:  # no table of this name
        slips = {}
    fitting = {said for number, said in slips.items() if abs(received - number) <= near}
    if len(fitting) == 1:  # of several no one can say which it was
        return Wrong(*fitting.pop(), details)
    return Wrong("not-repeated", "The check repeated a run and got a number other than the reported one.", details)
