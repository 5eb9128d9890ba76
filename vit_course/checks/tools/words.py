"""Describes returned values in words that are the same on every machine."""

import numpy as np
import torch


def describe(thing, depth: int = 2) -> str:
    """What a thing is, in a few words that are the same on every machine; of lists in lists the first `depth`."""
    if isinstance(thing, torch.Tensor):
        return f"tensor {tuple(thing.shape)}"
    if isinstance(thing, np.ndarray):
        return f"a numpy array {thing.shape}"
    if isinstance(thing, float):
        return f"{thing:.6g}"
    if thing is None or isinstance(thing, (bool, int)):
        return str(thing)[:40]
    if isinstance(thing, str):
        return repr(thing if len(thing) < 30 else thing[:27] + "...")
    if isinstance(thing, (tuple, list)):
        if not depth:
            return f"a {type(thing).__name__}"
        inside = ", ".join(describe(item, depth - 1) for item in thing[:4]) + (", ..." if len(thing) > 4 else "")
        return f"a {type(thing).__name__} ({inside})"
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    return f"an object of type {type(thing).__name__}"


def told_apart(expected, received) -> tuple[str, str]:
    """Two numbers, rounded so that they print the same on every machine, in as many digits as it takes to differ."""
    one, other = (value.item() if isinstance(value, torch.Tensor) else value for value in (expected, received))
    if not isinstance(one, float) or not isinstance(other, float):
        return str(one), str(other)
    for digits in range(3, 8):
        words = f"{one:.{digits}f}", f"{other:.{digits}f}"
        if words[0] != words[1]:
            return words
    return f"{one:.7g}", f"{other:.7g}"


def beside(expected, received) -> list[str]:
    """The two lines that end in what was expected and what was received, for a `Wrong`."""
    return [f"Expected: {expected}", f"Received: {received}"]


def capital(text: str) -> str:
    """The text with its first letter as a capital."""
    return text[0].upper() + text[1:]


def plain(text: str) -> str:
    """Normalises an option: ignores case, blanks, hyphens, underscores and a final full stop."""
    return "".join(letter for letter in text.casefold() if letter not in "-_" and not letter.isspace()).rstrip(".")
