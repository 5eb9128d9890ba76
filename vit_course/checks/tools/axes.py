"""Says which axes met, or came back, where every axis of an input has a length of its own."""

import contextlib
import re
from collections.abc import Iterator, Mapping

from vit_course.checks.report import Wrong

# What PyTorch says of two lengths that do not fit.
_MET = (
    r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)",
    r"batch2 tensor to be: \[\d+, (\d+)\] but got: \[\d+, (\d+)\]",
    r"shapes cannot be multiplied \((?:\d+x)?(\d+) and (\d+)x?",
)


@contextlib.contextmanager
def axes_named(axes: Mapping[str, tuple[int, str]], asked: str) -> Iterator[None]:
    """Gives a raised error on two lengths, and a wrong shape, raised inside, a sentence with the names of the axes.

    Args:
        axes: of the first input: from a letter such as "T" to the length and a word for what lies along it.
        asked: the axes of the right result, such as "(B, h, T, S)".
    """
    letters = {length: letter for letter, (length, _) in axes.items()}
    words = {length: f"{letter} = {length} ({word})" for letter, (length, word) in axes.items()}
    try:
        yield
    except Wrong as wrong:
        met = _lengths(wrong) if wrong.mistake == "raised-error" else None
        # Lengths that differ by one may be those of one axis, one entry short.
        if met and set(met) <= set(words) and abs(met[0] - met[1]) > 1:
            first, second = (words[length] for length in met)
            sentence = f"Two axes are combined that do not match: {first} and {second}."
            raise Wrong("axes-do-not-fit", sentence, wrong.details) from None
        received, expected = _shape(wrong, "Received"), _shape(wrong, "Expected")
        short = len(received) == len(expected) and any(abs(a - b) == 1 for a, b in zip(received, expected, strict=True))
        if wrong.mistake == "wrong-shape" and received and set(received) <= set(letters) and not short:
            found = f"({', '.join(letters[length] for length in received)}{',' * (len(received) == 1)})"
            sentence = f"The axes of the result are {found}; the exercise asks for {asked}."
            raise Wrong("other-axes", sentence, wrong.details) from None
        raise


def _lengths(wrong: Wrong) -> tuple[int, ...] | None:
    found = (re.search(pattern, line) for line in wrong.details for pattern in _MET)
    return next((tuple(map(int, one.groups())) for one in found if one), None)


def _shape(wrong: Wrong, which: str) -> list[int]:
    shapes = (re.match(rf"{which}: \(([\d, ]+)\)", line) for line in wrong.details)
    return [int(length) for shape in shapes if shape for length in re.findall(r"\d+", shape[1])]
