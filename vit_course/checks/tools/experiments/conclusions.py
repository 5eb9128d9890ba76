"""Whether a conclusion follows from the numbers of several runs. By which rule, the exercise says."""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import NamedTuple

from vit_course.checks.report import Wrong
from vit_course.checks.tools.words import describe, plain


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
    """A `Wrong` where the learner's conclusion is not what the rule says of the learner's numbers.

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
