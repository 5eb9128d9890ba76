"""Rules for values. A rule takes a name and a value, and raises a `ValueError` of one sentence or does nothing.

An int is Python's own: True does not count as one, nor does a NumPy int, which can overflow and which JSON cannot hold.
A number is an int or a float; every range has two finite ends, so that it excludes infinity, and NaN as well.
"""

import os
import re
from collections.abc import Callable, Mapping
from typing import TypeGuard

# Characters that a terminal obeys: control characters, line breaks and changes of the writing direction; and lone
# surrogates, which it cannot show.
OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

Rule = Callable[[str, object], None]


def check(rules: Mapping[str, Rule], values: Mapping[str, object]) -> None:
    """Checks each value by the rule of its name."""
    for name, value in values.items():
        rules[name](name, value)


def whole(low: int, high: int) -> Rule:
    """The rule for an int from `low` to `high`."""

    def rule(name: str, value: object) -> None:
        if not is_int(value):
            raise ValueError(f"{name} must be an int of at least {low}, got {shown(value)}")
        if value < low:
            raise ValueError(f"{name} must be at least {low}, got {shown(value)}")
        if value > high:
            raise ValueError(f"{name} must be at most {high}, got {shown(value)}")

    return rule


def real(low: float, high: float) -> Rule:
    """The rule for a number from `low` to `high`."""

    def rule(name: str, value: object) -> None:
        _check_number(name, value)
        if value < low:
            raise ValueError(f"{name} must be at least {low}, got {shown(value)}")
        if not value <= high:
            raise ValueError(f"{name} must be at most {high}, got {shown(value)}")

    return rule


def positive(high: float) -> Rule:
    """The rule for a number greater than 0, up to `high`."""

    def rule(name: str, value: object) -> None:
        _check_number(name, value)
        if value <= 0:
            raise ValueError(f"{name} must be greater than 0, got {shown(value)}")
        if not value <= high:
            raise ValueError(f"{name} must be at most {high}, got {shown(value)}")

    return rule


def share(name: str, value: object) -> None:
    """The rule for a share: a number of at least 0 and less than 1."""
    _check_number(name, value)
    if not 0 <= value < 1:
        raise ValueError(f"{name} must be at least 0 and less than 1, got {shown(value)}")


def flag(name: str, value: object) -> None:
    """The rule for True or False; a word or a number that counts as one is refused."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")


def text(name: str, value: object) -> None:
    """The rule for a str, such as a title or the name of a class."""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text, got {shown(value)}")


def one_of(*choices: str) -> Rule:
    """The rule for one of several words, spelled exactly as given."""

    def rule(name: str, value: object) -> None:
        if not isinstance(value, str) or value not in choices:
            *most, last = map(repr, choices)
            raise ValueError(f"{name} must be {', '.join(most)} or {last}, got {shown(value)}")

    return rule


def pair(meaning: str, high: int, product: int) -> Rule:
    """The rule for two ints from 1 to `high` in a tuple or list, of at most this `product`."""

    def rule(name: str, value: object) -> None:
        if not isinstance(value, (tuple, list)) or len(value) != 2 or not all(is_int(v) and v >= 1 for v in value):
            raise ValueError(f"{name} must be {meaning}, two ints of at least 1, got {shown(value)}")
        if max(value) > high or value[0] * value[1] > product:
            raise ValueError(
                f"{name} must be {meaning} of at most {high} each, with a product of at most {product}, got "
                f"{shown(value)}"
            )

    return rule


def path_name(name: str, value: object) -> None:
    """The rule for a str or a `Path` that can name a file or folder on this machine, whether or not it exists."""
    if not isinstance(value, (str, os.PathLike)):
        raise ValueError(f"{name} must be a str or a Path, got {shown(value)}")
    try:
        impossible = os.fsencode(value) == b"" or b"\0" in os.fsencode(value)
    except UnicodeEncodeError:
        impossible = True
    if impossible:
        raise ValueError(f"{name} must be one that a file can have, got {shown(os.fspath(value))}")


def is_int(value: object) -> TypeGuard[int]:
    """Returns whether a value is a Python int; True and False do not count."""
    return isinstance(value, int) and not isinstance(value, bool)


def shown(value: object) -> str:
    """Formats a value for an error message, short and on one line: of arrays the shape, of plain objects the type."""
    kind = type(value).__name__
    try:
        if getattr(value, "shape", ()) and hasattr(value, "dtype"):  # NumPy's or PyTorch's: this file imports neither
            return f"{kind} of shape {tuple(value.shape)} of {value.dtype}"
        text = " ".join(repr(value).split())
    except Exception:  # Python refuses to print an int of 5,000 digits, and an object's own repr may raise anything
        return "an int too long to show" if is_int(value) else kind
    if " at 0x" in text:  # a memory address means nothing to a reader
        return kind
    return text if len(text) <= 80 else f"{text[:77]}..."


def harmless(text: str) -> str:
    """Makes any text safe to print on one line of a terminal: characters that it would obey are escaped, as \\x1b."""
    return OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _check_number(name: str, value: object) -> None:
    if not isinstance(value, float) and not is_int(value):
        raise ValueError(f"{name} must be a number, got {shown(value)}")
    if value != value:
        raise ValueError(f"{name} must be a number, got nan")
