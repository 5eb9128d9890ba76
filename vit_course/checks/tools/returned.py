"""Checks returned values that are not tensors: a number of any type, or a dict."""

import math
from collections.abc import Iterable, Mapping

import numpy as np
import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.words import describe


def without_graph(loss) -> None:
    """Raises `Wrong` where a returned loss is a tensor that still has its graph; ignores anything else."""
    if isinstance(loss, torch.Tensor) and loss.requires_grad:
        raise Wrong("graph-returned", "The returned loss still has its graph, which keeps all its inputs in memory.")


def real(value) -> float:
    """A learner's number as a float; anything but one number is a `Wrong`."""
    if isinstance(value, (torch.Tensor, np.ndarray)) and math.prod(value.shape) == 1:
        value = value.item()
    if value is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise Wrong("wrong-type", f"The result is {describe(value)} where a number is expected.")
    return float(value)


def of_type(value, kind: type, what: str) -> None:
    """Raises `Wrong` where the text asks for an int or a float by name, and a tensor or an array came back."""
    if not isinstance(value, kind):
        words = {int: "an int", float: "a float"}[kind]
        sentence = f"{what} is correct, but it is {describe(value)}; the exercise asks for {words}."
        raise Wrong("number-of-another-type", sentence)


def named(received, names: Iterable[str]) -> Mapping:
    """The learner's dict, or a `Wrong` where it is none or has other names."""
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(received, Mapping):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a dict is expected.")
    names = tuple(names)
    missing = sorted(name for name in names if name not in received)
    extra = sorted(describe(name) for name in received if name not in names)
    if missing or extra:
        raise Wrong(
            "wrong-keys",
            "The names in the dict are not the ones that the exercise asks for.",
            [f"Missing: {', '.join(missing) or 'none'}", f"Not asked for: {', '.join(extra) or 'none'}"],
        )
    return received
