"""Looks at a learner's experiment with two settings: its numbers, and whether the conclusion follows from them."""

import math
from collections.abc import Mapping

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.numbers import real
from vit_course.checks.tools.words import describe

SEEDS = 3


def two_settings(
    received, first: str, second: str, lower: str, higher: str, low: float, high: float, what: str
) -> None:
    """Raises `Wrong` unless the conclusion follows from the numbers and the numbers can be.

    A conclusion follows where every run of one setting is below every run of the other; else it is "not decided".

    Args:
        received: the learner's {first: [a number a seed], second: [a number a seed], "conclusion": ...}.
        first, second: the names of the settings.
        lower, higher: the conclusion where the runs of `second` lie below those of `first`, and above.
        low, high: no run can give a number outside these.
        what: the numbers are, such as "loss".
    """
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(received, Mapping):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a dict is expected.")
    if set(received) != {first, second, "conclusion"}:
        found = [f"Received: {', '.join(sorted(map(describe, received)))}"]
        raise Wrong("wrong-keys", f"The names in the dict are not {first}, {second} and conclusion.", found)
    one, other = (_numbers(name, received[name], low, high, what) for name in (first, second))
    if len(one) != len(other):
        found = [f"Received: {len(one)} of {first} and {len(other)} of {second}"]
        raise Wrong("seeds-differ", "One setting was run with more seeds than the other.", found)
    if one == other:
        raise Wrong("same-runs", "Both settings gave the same numbers to the last digit: the setting had no effect.")
    _follows(received["conclusion"], {first: one, second: other}, lower, higher)


def _numbers(name: str, values, low: float, high: float, what: str) -> list[float]:
    if isinstance(values, torch.Tensor):
        values = values.tolist()
    if not isinstance(values, (list, tuple)):
        raise Wrong("wrong-type", f"{name} is {describe(values)} where a list of numbers is expected.")
    found = [real(value) for value in values]
    if len(found) < SEEDS:
        raise Wrong("too-few-seeds", f"{name} has {len(found)} runs: too few to tell an effect from luck.")
    if not all(math.isfinite(value) and value >= 0 for value in found):
        raise Wrong("not-possible", f"{name} has a number that no {what} can be.", [f"Received: {found}"])
    if not all(low <= value <= high for value in found):
        raise Wrong("wrong-answer", f"{name} has a number that these runs do not give as a {what}.")
    if len(set(found)) == 1:
        raise Wrong("seed-repeated", f"{name} has the same number in every run: were the seeds different?")
    return found


def _follows(said, runs: dict[str, list[float]], lower: str, higher: str) -> None:
    options = (lower, higher, "not decided")
    if not isinstance(said, str) or said.strip().lower() not in options:
        raise Wrong("no-such-option", f"{describe(said)} is none of the options {', '.join(options)}.")
    said, (one, other) = said.strip().lower(), runs.values()
    ranges = [f"{name}: from {min(values):g} to {max(values):g}" for name, values in runs.items()]
    apart = max(other) < min(one) or max(one) < min(other)
    if said == "not decided":
        if apart:
            raise Wrong("too-timid", "Every run of one setting lies below every run of the other.", ranges)
    elif not apart:
        raise Wrong("ranges-overlap", "The two ranges overlap, so these runs do not carry this conclusion.", ranges)
    elif said != (lower if max(other) < min(one) else higher):
        raise Wrong("direction-swapped", "The conclusion names the other direction.", ranges)
