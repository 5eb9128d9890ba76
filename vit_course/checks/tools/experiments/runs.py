"""The numbers that a learner reports of several runs: a list, a tuple, a tensor or an array for each setting."""

import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.experiments.again import chosen, seeds
from vit_course.checks.tools.numbers import real
from vit_course.checks.tools.words import describe


def shares(values, name: str, fewest: int = 3, what: str = "share") -> list[float]:
    """The shares of one setting from 0 to 1, one a run; `what` they are is said where a number is none."""
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
    """What an experiment over several seeds gave: the learner's dict, its seeds, and the numbers of each setting.

    Args:
        answer: the learner's function.
        settings: the names of the lists of numbers in the dict, beside "seeds".
        said: its other names, such as "conclusion".
        photographs: those of which the learner chooses some, "photographs" in the dict, in place of seeds.
        read: of a list of numbers, `shares`, `losses` or `wholes`; `limits` are its further arguments.
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
    """A `Wrong` where the settings cannot have one run for each of the same seeds, or of whatever `each` says."""
    if len({len(runs) for runs in settings.values()}) > 1:
        details = [f"{name}: {len(runs)} runs" for name, runs in settings.items()]
        raise Wrong("runs-differ", f"The numbers of runs differ, so there is not one for each {each}.", details)


def changed(settings: Mapping[str, list[float]]) -> None:
    """A `Wrong` where the numbers say that the seed, or what the settings differ in, does not reach the training."""
    if all(len(set(runs)) == 1 for runs in settings.values()):
        raise Wrong("one-run-repeated", "All runs of each setting are equal: the seed has no effect on the training.")
    if len({tuple(runs) for runs in settings.values()}) < len(settings):
        raise Wrong(
            "nothing-changed", "Two settings are equal run by run, as if the change had no effect on the training."
        )
