"""Exercise encoder.warm_up: an experiment of the learner's, and whether the conclusion follows from its numbers."""

import math
from collections.abc import Mapping

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.numbers import real
from vit_course.checks.tools.words import describe

OPTIONS = ("helps", "hurts", "not decided")
SEEDS = 3
LOWEST, HIGHEST = 0.05, 20.0  # of a mean loss that is still believed: ln 10 is 2.3


@exercise("Does a warm-up help?", difficulty=2, minutes=14)
def warm_up(answer, draw):
    """`answer()` -> {"without": [a loss a seed], "with": [a loss a seed], "conclusion": one of `OPTIONS`}."""
    received = call(answer)
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(received, Mapping):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a dict is expected.")
    if set(received) != {"without", "with", "conclusion"}:
        raise Wrong("wrong-keys", "The names in the dict are not without, with and conclusion.",
                    [f"Received: {', '.join(sorted(map(describe, received)))}"])  # fmt: skip
    without, with_it = (_losses(name, received[name]) for name in ("without", "with"))
    if len(without) != len(with_it):
        raise Wrong("seeds-differ", "One setting was run with more seeds than the other.",
                    [f"Received: {len(without)} without and {len(with_it)} with"])  # fmt: skip
    if without == with_it:
        raise Wrong("same-runs", "Both settings have the same losses to the last digit, so the setting had no effect.")
    _conclusion(received["conclusion"], without, with_it)


def _losses(name: str, values) -> list[float]:
    if isinstance(values, torch.Tensor):
        values = values.tolist()
    if not isinstance(values, (list, tuple)):
        raise Wrong("wrong-type", f"{name} is {describe(values)} where a list of losses is expected.")
    found = [real(value) for value in values]
    if len(found) < SEEDS:
        raise Wrong("too-few-seeds", f"{name} has {len(found)} runs: too few to tell an effect from luck.")
    if not all(math.isfinite(value) and 0 < value < HIGHEST for value in found):
        raise Wrong("not-a-loss", f"{name} has a number that is no mean cross-entropy of these digits.",
                    [f"Received: {found}"])  # fmt: skip
    if len(set(found)) < len(found):
        raise Wrong("seed-repeated", f"{name} has the same loss twice: two runs had the same seed.")
    if max(found) < LOWEST:
        raise Wrong("wrong-answer", f"{name} is lower than any of these runs can come in so few steps.")
    return found


def _conclusion(said, without: list[float], with_it: list[float]) -> None:
    if not isinstance(said, str) or said.strip().lower() not in OPTIONS:
        raise Wrong("no-such-option", f"{describe(said)} is none of the options {', '.join(OPTIONS)}.")
    said = said.strip().lower()
    ranges = [f"{name}: from {min(values):.2f} to {max(values):.2f}" for name, values in
              (("without", without), ("with   ", with_it))]  # fmt: skip
    apart = max(with_it) < min(without) or max(without) < min(with_it)
    if said != "not decided" and not apart:
        raise Wrong("ranges-overlap", "The two ranges overlap, so these seeds do not carry this conclusion.", ranges)
    if said == "not decided" and apart:
        raise Wrong("too-timid", "Every run of one setting is better than every run of the other.", ranges)
    if said == ("helps" if max(without) < min(with_it) else "hurts") and apart:
        raise Wrong("direction-swapped", "The conclusion names the other direction: a lower loss is better.", ranges)
