"""Looks at answers that were worked out by hand or predicted, without giving the right ones away."""

from collections.abc import Mapping

import numpy as np
import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.words import describe


def same_answers(received, expected: Mapping, parts, mistakes: Mapping[str, Mapping] | None = None) -> None:
    """A dict of answers worked out or predicted, each a part of its own; the right one is never shown.

    Args:
        received: the learner's dict.
        expected: the right answers by name: an int, a float (within 0.1 %), a bool, a tuple of ints for a shape, or
            a str for a choice.
        parts: of the check, for partial credit.
        mistakes: by name, from a wrong answer to (slug, sentence). For a choice these are the other options.
    """
    named(received, expected)
    for name, value in expected.items():
        with parts(name):
            same_answer(received[name], value, (mistakes or {}).get(name, {}))


def same_answer(received, expected, mistakes: Mapping | None = None) -> None:
    """One answer, or a `Wrong` that does not give the right one away; see `same_answers`."""
    mistakes = mistakes or {}
    if isinstance(received, torch.Tensor) and received.numel() == 1:
        received = received.item()
    if isinstance(received, (torch.Size, list)):
        received = tuple(received)
    if isinstance(received, np.generic):
        received = received.item()
    if isinstance(received, str):
        received = str(received).strip().lower()
    kinds = (int, float) if type(expected) in (int, float) else type(expected)
    if not isinstance(received, kinds) or (isinstance(received, bool) and type(expected) is not bool):
        names = {int: "a number", float: "a number", bool: "True or False", tuple: "a shape (a tuple)", str: "a choice"}
        raise Wrong("wrong-type", f"This is {describe(received)} where {names[type(expected)]} is expected.")
    if _is(received, expected):
        if type(expected) is int and type(received) is float:
            raise Wrong("float-count", f"{received} is a float where something is counted: a count is an int.")
        return
    for wrong, (slug, sentence) in mistakes.items():
        if _is(received, wrong):
            raise Wrong(slug, sentence)
    if isinstance(expected, str):
        options = sorted({expected, *mistakes})
        raise Wrong("no-such-option", f"{describe(received)} is none of the options {', '.join(options)}.")
    raise Wrong("wrong-answer", f"{received} is not right.")


def _is(received, value) -> bool:
    if isinstance(value, float) and not isinstance(received, (tuple, str)):
        return abs(received - value) <= 1e-3 * abs(value)
    return received == value
