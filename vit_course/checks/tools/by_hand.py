"""Checks answers that were worked out by hand or predicted, without giving the right ones away."""

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.returned import named
from vit_course.checks.tools.words import describe, plain


def same_answers(
    received,
    expected: Mapping,
    parts,
    mistakes: Mapping[str, Mapping] | None = None,
    follows: Mapping[str, Sequence[tuple[str, Callable]]] | None = None,
) -> None:
    """Checks a dict of answers that were worked out or predicted, each as its own part; never shows the right one.

    Args:
        received: the learner's dict.
        expected: the right answers by name: an int, a float (within 0.1 %), a bool, a tuple of ints for a shape, or
            a str for a choice.
        parts: of the check, for partial credit.
        mistakes: by name, from a wrong answer, or a range of them, to (slug, sentence). For a choice these are the
            other options.
        follows: by name, the earlier answers that it can be computed from, each with the function that does so. Where
            an answer is right given a wrong earlier one, the sentence says so.
    """
    named(received, expected)
    for name, value in expected.items():
        with parts(name):
            try:
                same_answer(received[name], value, (mistakes or {}).get(name, {}))
            except Wrong as wrong:
                source = _source(received, name, (follows or {}).get(name, ()))
                if not source:
                    raise
                sentence = f"This follows from your answer to {source}: correct that one first."
                raise Wrong(f"follows-from-{source.replace('_', '-')}", sentence) from wrong


def _source(received: Mapping, name: str, follows: Sequence[tuple[str, Callable]]) -> str:
    # The earlier answer, wrong too, that this wrong one follows from, or "".
    for source, consequence in follows:
        with contextlib.suppress(Exception):  # an answer of a kind from which nothing follows
            same_answer(received[name], consequence(received[source]))
            return source
    return ""


def same_answer(received, expected, mistakes: Mapping | None = None) -> None:
    """One answer, or a `Wrong` that does not give the right one away; see `same_answers`."""
    mistakes = mistakes or {}
    received = _simple(received)
    if isinstance(expected, tuple) and isinstance(received, (tuple, list, np.ndarray, torch.Tensor)):
        items = tuple(map(_simple, received))
        if any(
            isinstance(item, (torch.Tensor, np.ndarray)) for item in items
        ):  # these cannot be compared with a number
            raise Wrong("wrong-type", f"This is {describe(received)} where a shape (a tuple) is expected.")
        received = items
    if isinstance(received, str):
        received = str(received)
        options = [option for option in (expected, *mistakes) if isinstance(option, str)]
        received = next((one for one in options if plain(one) == plain(received)), received.strip().lower())
    kinds = (int, float) if type(expected) in (int, float) else type(expected)
    if not isinstance(received, kinds) or (isinstance(received, bool) and type(expected) is not bool):
        names = {int: "a number", float: "a number", bool: "True or False", tuple: "a shape (a tuple)", str: "a choice"}
        raise Wrong("wrong-type", f"This is {describe(received)} where {names[type(expected)]} is expected.")
    if _is(received, expected):
        counts = received if isinstance(expected, tuple) else (received,)
        for count in counts:
            if type(expected) in (int, tuple) and type(count) is float:
                place = f" in {received}" if isinstance(expected, tuple) else ""
                sentence = f"{count}{place} is a float, but it counts something: a count is an int."
                raise Wrong("float-count", sentence)
        return
    for wrong, (slug, sentence) in mistakes.items():
        if _is(received, wrong):
            raise Wrong(slug, sentence)
    if isinstance(expected, str):
        options = sorted({expected, *mistakes})
        raise Wrong("no-such-option", f"{describe(received)} is not one of the options {', '.join(options)}.")
    raise Wrong("wrong-answer", f"{received} is not right{_about(received, expected)}.")


def _about(received, expected) -> str:
    # Whether a factor may be missing or a small step is wrong; no more, because the right number is not shown.
    if type(expected) not in (int, float) or expected <= 0 or not math.isfinite(received):
        return ""
    share = received / expected
    return ": it is far too large" if share > 1.5 else ": it is far too small" if share < 0.67 else ", but near"


def truth(received) -> bool:
    """The learner's True or False, of PyTorch or NumPy too; anything else is a `Wrong`."""
    received = _simple(received)
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(received, bool):
        raise Wrong("wrong-type", f"The result is {describe(received)} where True or False is expected.")
    return received


def _simple(value):
    # Converts a number of PyTorch or NumPy to Python, by the base class's method, which no subclass can override.
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value.item()
    if isinstance(value, np.ndarray) and np.ndarray.size.__get__(value) == 1:
        return np.ndarray.item(value)
    if isinstance(value, Fraction):
        return float(value)
    return np.generic.item(value) if isinstance(value, np.generic) else value


def _is(received, value) -> bool:
    if isinstance(value, range):  # a whole range of wrong answers
        return type(received) in (int, float) and received in value
    if isinstance(value, float) and not isinstance(received, (tuple, str)):
        return abs(received - value) <= 1e-3 * abs(value)
    return received == value
