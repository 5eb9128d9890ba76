"""Judges an experiment of the learner's: its numbers, and whether the conclusion follows from them."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.numbers import real
from vit_course.checks.tools.words import describe

VERDICTS = ("better", "worse", "no clear difference")


def entries(received, names: Sequence[str]) -> Mapping:
    """The learner's dict, or a `Wrong` where it has other names."""
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(received, Mapping):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a dict is expected.")
    missing = [name for name in names if name not in received]
    extra = sorted(describe(name) for name in received if name not in names)
    if missing or extra:
        raise Wrong(
            "wrong-keys",
            "The names in the dict are not the ones asked for.",
            [f"Missing: {', '.join(missing) or 'none'}", f"Not asked for: {', '.join(extra) or 'none'}"],
        )
    return received


def accuracies(values, name: str, low: float, runs: int = 3) -> list[float]:
    """Measured accuracies, one a seed, at least `low` each; a `Wrong` where no such runs give them."""
    if isinstance(values, (torch.Tensor, np.ndarray)):
        values = values.tolist()
    if not isinstance(values, (list, tuple)):
        raise Wrong("wrong-type", f"{name} is {describe(values)} where a list of accuracies is expected.")
    found = [real(value) for value in values]
    if len(found) < runs:
        raise Wrong("too-few-runs", f"{name} has {len(found)} runs: one or two cannot show how far seeds lie apart.")
    if any(1 < value <= 100 for value in found):
        raise Wrong("percent", f"{name} holds a number above 1, as if it were a percentage.")
    if len(set(found)) == 1:
        raise Wrong("one-run-repeated", f"{name} holds one number several times, as one seed run again would give.")
    if not all(low <= value <= 1 for value in found):
        raise Wrong("wrong-answer", f"{name} holds an accuracy that this training does not give.")
    return found


def verdict(ours: list[float], reference: list[float]) -> str:
    """What the numbers say of `ours`: a difference of the means counts where it exceeds the spread of either kind."""
    apart = float(np.mean(ours) - np.mean(reference))
    spread = max(max(runs) - min(runs) for runs in (ours, reference))
    return VERDICTS[2] if abs(apart) <= spread else VERDICTS[apart < 0]


def conclusion_follows(said, name: str, ours: list[float], reference: list[float]) -> None:
    """A `Wrong` where the learner's conclusion is not what the learner's numbers say."""
    said = str(said).strip().lower() if isinstance(said, str) else said
    if said not in VERDICTS:
        raise Wrong("no-such-option", f"{name} is {describe(said)}, which is none of {', '.join(VERDICTS)}.")
    right = verdict(ours, reference)
    if said == right:
        return
    apart = float(np.mean(ours) - np.mean(reference))
    spread = max(max(runs) - min(runs) for runs in (ours, reference))
    details = [f"Difference of the means: {apart:+.3f}", f"Spread of the seeds: {spread:.3f}"]
    if right == VERDICTS[2]:
        raise Wrong("difference-within-spread", f"{name} claims more than these runs show.", details)
    if said == VERDICTS[2]:
        raise Wrong("difference-overlooked", f"{name} claims less than these runs show.", details)
    raise Wrong("direction-reversed", f"{name} says the opposite of these runs.", details)
