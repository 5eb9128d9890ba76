"""Checks a reported experiment: the numbers of several runs, and whether the conclusion follows from them.

Mistakes have the same names in all exercises; each exercise chooses the rule for its conclusion. The numbers of a
setting are a list, a tuple, a tensor or an array.

    reported              all of it
    shares, losses, wholes: the numbers of one setting; paired, changed: of several
    seeds, chosen         what the runs come from
    rerun                 runs of each kind, repeated by the check to see whether the report can be reproduced
    by_ranges, by_means, by_spread: rules; follows: a conclusion by one of them; choice: one of some words
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from statistics import mean
from typing import NamedTuple

import numpy as np
import torch

from vit_course.checks.draw import Draw
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake
from vit_course.checks.tools.returned import named, real
from vit_course.checks.tools.words import describe, plain


def shares(values, name: str, fewest: int = 3, what: str = "share") -> list[float]:
    """The shares of one setting, from 0 to 1, one for each run; `what` names them in the sentence of an error."""
    numbers = _measured(values, name, fewest)
    for number in numbers:
        if 1 < number <= 100 and max(numbers) > 10:  # below, they are more likely something else, such as losses
            raise Wrong(
                "percent", f"{name!r} holds {number:g}: it should hold shares from 0 to 1, not percentages or counts."
            )
    _possible(numbers, name, what, most=1)
    return numbers


def losses(values, name: str, low: float, high: float, what: str = "loss", fewest: int = 3) -> list[float]:
    """The losses of one setting, one a run, all from `low` to `high`."""
    numbers = _measured(values, name, fewest)
    _possible(numbers, name, what, most=math.inf)
    if max(numbers) >= 1 and all(number == int(number) for number in numbers):
        sentence = f"{name!r} holds whole numbers, like counts: they are unlikely to be a {what}."
        raise Wrong("counts", sentence)
    for number in numbers:
        if not low <= number <= high:
            raise Wrong("wrong-answer", f"{name!r} holds {number:g}: these runs do not end with such a {what}.")
    return numbers


def wholes(values, name: str, high: int, what: str, fewest: int = 3) -> list[int]:
    """The whole numbers of one setting, one a run, all from 0 to `high`."""
    _possible(numbers := _measured(values, name, fewest), name, what, high, every=1)
    return [int(number) for number in numbers]


def reported(
    answer: Callable,
    settings: Iterable[str],
    *said: str,
    photographs: Iterable[str] = (),
    read: Callable = shares,
    fewest: int = 3,
    **limits,
) -> tuple[Mapping, list, dict[str, list]]:
    """Calls the learner's function and checks its dict; returns the dict, its seeds and the numbers of each setting.

    Args:
        answer: the learner's function.
        settings: the names of the lists of numbers in the dict, beside "seeds".
        said: the other keys of the dict, such as "conclusion".
        photographs: the names to choose from, where the dict has "photographs" in place of "seeds".
        read: checks a list of numbers: `shares`, `losses` or `wholes`; `limits` are its further arguments.
        fewest: how many seeds or photographs are asked for.
    """
    each = "photograph" if photographs else "seed"
    received = named(call(answer), (f"{each}s", *settings, *said))
    given = received[f"{each}s"]
    runs = chosen(given, photographs, fewest) if photographs else seeds(given, fewest)
    found = {name: read(received[name], name, fewest=fewest, **limits) for name in settings}
    paired({f"{each}s": runs} | found, each)
    return received, runs, found


def _measured(values, name: str, fewest: int) -> list[float]:
    if isinstance(values, (torch.Tensor, np.ndarray)):
        values = values.tolist()
    if not isinstance(values, (list, tuple)):
        raise Wrong("wrong-type", f"{name!r} is {describe(values)} where a list of numbers is expected.")
    numbers = [_number(value, name) for value in values]
    if len(numbers) < fewest:
        count = "1 number" if len(numbers) == 1 else f"{len(numbers)} numbers"
        raise Wrong("too-few-runs", f"{name!r} has {count}, too few to tell an effect from luck; {fewest} are needed.")
    return numbers


def _number(value, name: str) -> float:
    try:
        return round(real(value), 7)  # so that a tensor's 0.9 in single precision is the 0.9 that is typed
    except Wrong:
        raise Wrong("wrong-type", f"{name!r} holds {describe(value)} where a number is expected.") from None


def _possible(numbers: list[float], name: str, what: str, most: float, every: float = 0) -> None:
    for number in numbers:
        if not (math.isfinite(number) and 0 <= number <= most) or (every and number % every):
            raise Wrong("not-possible", f"{name!r} holds {number:g}, which is not a possible {what}.")


def paired(settings: Mapping[str, list[float]], each: str = "seed") -> None:
    """Raises `Wrong` where the settings have different numbers of runs, so not one for each seed, or other source."""
    if len({len(runs) for runs in settings.values()}) > 1:
        details = [f"{name}: {len(runs)} runs" for name, runs in settings.items()]
        raise Wrong("runs-differ", f"The numbers of runs differ, so there is not one for each {each}.", details)


def changed(settings: Mapping[str, list[float]]) -> None:
    """Raises `Wrong` where the numbers show that the seed, or the change between the settings, has no effect."""
    if all(len(set(runs)) == 1 for runs in settings.values()):
        sentence = (
            "All runs of each setting are equal: the seed has no effect on these numbers, or they are rounded too far."
        )
        raise Wrong("one-run-repeated", sentence)
    if len({tuple(runs) for runs in settings.values()}) < len(settings):
        raise Wrong(
            "nothing-changed", "Two settings are equal run by run, as if the change had no effect on the training."
        )


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
    """The rounding error of numbers with two to four decimals: half a unit of the last decimal that any of them has."""
    places = next((n for n in (2, 3) if all(round(number, n) == number for number in numbers)), 4)
    return 0.5 * 10**-places


def rerun(
    reported: Mapping[object, Sequence[float]],
    each: Mapping[str, Sequence],
    measure: Callable[..., float],
    draw: Draw,
    near: float | Callable[[object], float],
    kinds: Sequence[Sequence] | None = None,
    runs: int = 1,
    mistakes: Sequence[Mistake] = (),
) -> None:
    """Repeats runs of each kind of setting, and raises `Wrong` where one gives another number than the learner's.

    No source is drawn again before all the others were.

    Args:
        reported: a list of numbers for each setting, one for each source, in their order.
        each: one entry, from the word for a source ("seed", "photograph") to the learner's sources.
        measure: (setting, source) -> the right number.
        draw: of the check: which runs are made again.
        near: the tolerance: how much rounding and another machine may change a number; or a function of the setting.
        kinds: groups of settings, of each of which one is drawn for every run; each setting by itself, unless given.
        runs: how many are repeated of each kind.
        mistakes: with functions of setting and source that give the wrong number.
    """
    ((word, sources),) = each.items()
    asked = [kind for kind in kinds or [[setting] for setting in reported] for _ in range(runs)]
    for kind, place in zip(asked, cycle(draw.permutation(len(sources)).tolist()), strict=False):
        setting, source = draw.choose(kind), sources[place]
        received, right = reported[setting][place], measure(setting, source)
        tolerance = near(setting) if callable(near) else near
        if abs(received - right) <= tolerance:
            continue
        details = [f"Run:      {setting!r}, {word} {source}", f"Expected: about {right:.3g}"]
        details.append(f"Received: {received:.3g}")
        given = dict(zip(sources, reported[setting], strict=True))
        raise _named(mistakes, setting, [source, sources[place - 1]], given, tolerance, details)


def _named(
    mistakes: Sequence[Mistake], setting, sources: Sequence, given: Mapping, near: float, details: list[str]
) -> Wrong:
    # The mistake that gives the numbers of both sources: one alone may come near by chance, or fit another mistake too.
    found: dict[tuple, tuple[str, str]] = {}  # of two mistakes with equal numbers the first counts
    for mistake in mistakes:
        for number in mistake.forms:
            numbers = tuple(number(setting, source) for source in sources)
            found.setdefault(numbers, (mistake.slug, mistake.sentence))
    fitting = {
        said
        for numbers, said in found.items()
        if all(abs(given[source] - number) <= near for source, number in zip(sources, numbers, strict=True))
    }
    if len(fitting) == 1:  # if several fit, it is unknown which one it was
        return Wrong(*fitting.pop(), details)
    return Wrong("not-repeated", "The check repeated a run and got a number other than the reported one.", details)


class Difference(NamedTuple):
    """What a rule says: 1 or -1 where the second setting lies above or below the first, else 0; and the numbers."""

    sign: int
    details: list[str]


def by_ranges(settings: Mapping[str, list[float]]) -> Difference:
    """The rule that every run of the one setting lies above every run of the other."""
    first, second = settings.values()
    sign = (min(second) > max(first)) - (max(second) < min(first))
    return Difference(sign, [f"The two ranges {'do not ' if sign else ''}overlap.", *ranges(settings)])


def by_means(settings: Mapping[str, list[float]]) -> Difference:
    """The rule that the two means differ by more than the seeds of either setting do."""
    first, second = settings.values()
    return by_spread("Difference of the means", mean(second) - mean(first), first, second)


def by_spread(name: str, difference: float, *settings: list[float]) -> Difference:
    """The rule that a difference is larger than the largest spread, from lowest to highest, of some settings."""
    spread = max(max(runs) - min(runs) for runs in settings)
    sign = 0 if abs(difference) <= spread + 1e-9 else 1 if difference > 0 else -1
    return Difference(sign, [f"{name}: {difference:+.3f}", f"Largest spread of the seeds: {spread:.3f}"])


def ranges(settings: Mapping[str, list[float]]) -> list[str]:
    """The lowest and the highest number of each setting, in words."""
    return [f"{name}: from {min(runs):g} to {max(runs):g}" for name, runs in settings.items()]


def follows(said, name: str, words: Sequence[str], difference: Difference) -> None:
    """Raises `Wrong` where the learner's conclusion is not the one that the rule gives for the learner's numbers.

    Args:
        said, name: the conclusion, and what it is called.
        words: for a second setting that lies below, that cannot be told apart, and that lies above.
        difference: what the rule says.
    """
    chosen, right = choice(said, name, words), words[difference.sign + 1]
    if chosen == right:
        return
    if right == words[1]:
        raise Wrong("more-than-the-numbers-say", f"{name!r} says more than these runs show.", difference.details)
    if chosen == words[1]:
        raise Wrong("too-careful", f"{name!r} says less than these runs show.", difference.details)
    raise Wrong("wrong-direction", f"{name!r} says the opposite of what these runs show.", difference.details)


def choice(said, name: str, options: Sequence[str]) -> str:
    """One of the options, whatever its case, blanks, hyphens and underscores."""
    if isinstance(said, str):
        for option in options:
            if plain(said) == plain(option):
                return option
    raise Wrong("no-such-option", f"{name!r} is {describe(said)}, not one of the options {', '.join(options)}.")
