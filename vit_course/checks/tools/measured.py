"""Judges an experiment by the learner's own numbers: whether they are plausible, and what they say."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.numbers import real
from vit_course.checks.tools.words import describe


def named(received, names: Sequence[str]) -> Mapping:
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


def shares(values, name: str, least: int) -> list[float]:
    """At least `least` measured shares from 0 to 1, not all the same."""
    if isinstance(values, (torch.Tensor, np.ndarray)):
        values = values.tolist()
    if not isinstance(values, (list, tuple)):
        raise Wrong("wrong-type", f"{name} is {describe(values)} where a list of numbers is expected.")
    found = [real(value) for value in values]
    if len(found) < least:
        raise Wrong("too-few", f"{name} has {len(found)} measurements; at least {least} are asked for.")
    if not all(0 <= value <= 1 for value in found):
        raise Wrong("no-share", f"{name} holds a number that is no share: those lie from 0 to 1.")
    if len(set(found)) == 1:
        raise Wrong("one-repeated", f"{name} holds one number several times, as one measurement copied would.")
    return found


def choice(said, name: str, options: Sequence[str]) -> str:
    """One of the options, whatever its case."""
    chosen = said.strip().lower() if isinstance(said, str) else None
    if chosen not in options:
        raise Wrong("no-such-option", f"{name} is {describe(said)}, which is none of {', '.join(options)}.")
    return chosen
