"""Exercise positions.patch_sizes: what positions are worth as patches shrink, measured and concluded."""

from collections.abc import Mapping

import numpy as np
import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.numbers import real
from vit_course.checks.tools.words import describe

SIDES, KINDS, SEEDS = (4, 2, 1), ("none", "learned"), 3
STEPS = {"4 to 2": (4, 2), "2 to 1": (2, 1)}
CONCLUSIONS = ("grows", "falls", "open")
# Where the means of three seeds lie, with room for other machines and seeds.
PLAUSIBLE = {
    ("none", 4): (0.85, 0.995),
    ("learned", 4): (0.85, 0.995),
    ("none", 2): (0.5, 0.8),
    ("learned", 2): (0.75, 0.97),
    ("none", 1): (0.1, 0.4),
    ("learned", 1): (0.22, 0.95),
}


@exercise("Experiment: smaller patches", section="What are positions worth?", difficulty=3, minutes=20)
def patch_sizes(answer, draw, parts):
    """`answer()` -> {"none": {4: [...], ...}, "learned": {...}, "conclusion": {"4 to 2": "grows", ...}}."""
    received = call(answer)
    _names(received)
    found = {(kind, side): _accuracies(received[kind], kind, side) for kind in KINDS for side in SIDES}
    means = {place: sum(values) / len(values) for place, values in found.items()}
    _plausible(means)
    gains = {side: means["learned", side] - means["none", side] for side in SIDES}
    spread = max(max(values) - min(values) for values in found.values())
    for name, (before, after) in STEPS.items():
        with parts(name):
            _follows(_conclusion(received["conclusion"], name), gains[before], gains[after], spread)


def _names(received) -> None:
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(received, Mapping):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a dict is expected.")
    missing = [name for name in (*KINDS, "conclusion") if name not in received]
    if missing:
        raise Wrong("wrong-keys", f"The dict has no {', '.join(map(repr, missing))}.")


def _accuracies(of_kind, kind: str, side: int) -> list[float]:
    if not isinstance(of_kind, Mapping) or side not in of_kind:
        raise Wrong("wrong-keys", f"There are no accuracies for {kind!r} with patches of side {side}.")
    values = of_kind[side]
    if isinstance(values, (torch.Tensor, np.ndarray)):
        values = values.tolist()
    if not isinstance(values, (list, tuple)):
        raise Wrong("wrong-type", f"{kind!r}, side {side}: {describe(values)} where a list of accuracies is expected.")
    numbers = [real(value) for value in values]
    if len(numbers) < SEEDS:
        raise Wrong("too-few-seeds", f"{kind!r}, side {side}: {len(numbers)} of {SEEDS} seeds.")
    if any(value > 1 for value in numbers):
        raise Wrong("percent", f"{kind!r}, side {side}: an accuracy is a share from 0 to 1, not a percentage.")
    if any(not value >= 0 for value in numbers):
        raise Wrong("not-plausible", f"{kind!r}, side {side}: an accuracy is a share from 0 to 1.")
    return numbers


def _plausible(means: dict) -> None:
    def fits(place, value):
        low, high = PLAUSIBLE[place]
        return low <= value <= high

    if all(fits(place, value) for place, value in means.items()):
        return
    if all(fits((KINDS[1 - KINDS.index(kind)], side), value) for (kind, side), value in means.items()):
        raise Wrong("kinds-exchanged", "The numbers look right with the two kinds exchanged.")
    if all(fits((kind, {4: 1, 2: 2, 1: 4}[side]), value) for (kind, side), value in means.items()):
        raise Wrong("sides-exchanged", "The numbers look right with the sides of the patches in the other order.")
    (kind, side), value = next((place, value) for place, value in means.items() if not fits(place, value))
    low, high = PLAUSIBLE[kind, side]
    raise Wrong(
        "wrong-values",
        f"{kind!r}, side {side}: this training gives other accuracies. Were the model, the recipe and the test images "
        "those of the chapter?",
        [f"Expected: a mean from {low} to {high}", f"Received: {value:.3f}"],
    )


def _conclusion(given, name: str) -> str:
    if not isinstance(given, Mapping) or name not in given:
        raise Wrong("wrong-keys", f"There is no conclusion on the step {name!r}.")
    value = given[name]
    if not isinstance(value, str) or value.strip().lower() not in CONCLUSIONS:
        raise Wrong("no-such-conclusion", f"{describe(value)} is none of {', '.join(CONCLUSIONS)}.")
    return value.strip().lower()


def _follows(conclusion: str, before: float, after: float, spread: float) -> None:
    # The range of three seeds is about 1.7 standard deviations: a step larger than the largest range is hardly luck.
    step = after - before
    supported = "open" if abs(step) <= spread else "grows" if step > 0 else "falls"
    details = [
        f"Your mean gains: {before:.3f}, then {after:.3f}",
        f"The largest spread of the seeds of one kind: {spread:.3f}",
    ]
    if conclusion == supported:
        return
    if supported == "open":
        raise Wrong("more-than-the-numbers-say", "The two gains differ by no more than the seeds do.", details)
    if conclusion == "open":
        raise Wrong("too-careful", "The two gains differ by more than the seeds do.", details)
    raise Wrong("wrong-direction", "Your gains go the other way.", details)
