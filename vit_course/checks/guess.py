"""Predictions: what the learner wrote down before running, beside what was measured."""

from numbers import Integral, Real


def guessed(guess, measured: float | str | None = None, digits: int = 2) -> str:
    """The sentence that ends a prediction's cell, or that opens the cell of a figure which gives the answer itself.

    Args:
        guess: a number, or a letter or word, with or without brackets; None where nothing was written down.
        measured: what came out, of the same kind. A letter is compared with the guess, a number also subtracted from
            it. A whole number (int) is counted, not measured: it is given without the sign for "about". None where
            the reader finds the answer in the figure: then only the guess is noted.
        digits: after the point of both numbers, where `measured` is no whole number.

    Raises:
        ValueError: a guess of another kind than what was measured.
    """
    if measured is None:
        said = "you wrote no guess" if guess is None else f"you said {str(guess).strip()}"
        return f"{said}; the figure has the answer"
    if isinstance(measured, str):
        answer = f"it is {measured}"
        if guess is None:
            return f"{answer}; you wrote no guess"
        if not isinstance(guess, str):
            raise ValueError(f'guess must be a letter or a word in quotes, such as "a", got {guess!r}')
        right = _option(guess) == _option(measured)
        return f"{answer}, as you said" if right else f"{answer}; you said {guess.strip()}"
    counted = isinstance(measured, Integral)
    answer = f"it is {measured:,}" if counted else f"measured ≈ {float(measured):.{digits}f}"
    if guess is None:
        return f"{answer}; you wrote no guess"
    if isinstance(guess, bool) or not isinstance(guess, Real):
        raise ValueError(f"guess must be a number, got {guess!r}")
    if counted and guess == measured:
        return f"{answer}, as you said"
    form = ",g" if counted else f".{digits}f"
    return f"{answer}; you said {float(guess):{form}}, {abs(float(guess) - float(measured)):{form}} away"


def _option(text: str) -> str:
    """An option as it is compared: "(C)", "c)" and " c " are all "c"."""
    return text.strip().strip("()").strip().casefold()
