"""Names the axes in an error or a wrong shape by their lengths, which are all different in the input."""

import contextlib
import re
from collections.abc import Iterator, Mapping

from vit_course.checks.errors import AXES, lengths_met
from vit_course.checks.report import Wrong


@contextlib.contextmanager
def axes_named(axes: Mapping[str, tuple[int, str]], asked: str) -> Iterator[None]:
    """Rewords a wrong shape, or an error about two lengths, that is raised inside: the sentence names the axes.

    Args:
        axes: of the first input: from a letter such as "T" to the length and a word for what lies along it.
        asked: the axes of the right result, such as "(B, h, T, S)".
    """
    letters = {length: letter for letter, (length, _) in axes.items()}
    words = {length: f"{letter} = {length} ({word})" for letter, (length, word) in axes.items()}
    try:
        yield
    except Wrong as wrong:
        met = lengths_met(wrong) if wrong.mistake == "raised-error" else None
        # Lengths that differ by one may be those of one axis, one entry short.
        if met and set(met) <= set(words) and abs(met[0] - met[1]) > 1:
            first, second = (words[length] for length in met)
            sentence = f"Two axes are combined that do not match: {first} and {second}."
            raise Wrong(AXES, sentence, wrong.details) from None
        received, expected = _shape(wrong, "Received"), _shape(wrong, "Expected")
        short = len(received) == len(expected) and any(abs(a - b) == 1 for a, b in zip(received, expected, strict=True))
        if wrong.mistake == "wrong-shape" and received and set(received) <= set(letters) and not short:
            found = f"({', '.join(letters[length] for length in received)}{',' * (len(received) == 1)})"
            sentence = f"The axes of the result are {found}; the exercise asks for {asked}."
            raise Wrong("other-axes", sentence, wrong.details) from None
        raise


def _shape(wrong: Wrong, which: str) -> list[int]:
    shapes = (re.match(rf"{which}: \(([\d, ]+)\)", line) for line in wrong.details)
    return [int(length) for shape in shapes if shape for length in re.findall(r"\d+", shape[1])]
