"""Predictions: what the learner wrote down before running, beside what was measured."""

from numbers import Real


def guessed(guess, measured: float | str, digits: int = 2) -> str:
    """The sentence that ends a prediction's cell.

    Args:
        guess: a number, or a letter or word; None where nothing was written down.
        measured: what came out, of the same kind.
        digits: after the point of both numbers.

    Raises:
        ValueError: a guess of another kind than what was measured.
    """
    if isinstance(measured, str):
        answer = f"it is {measured}"
        if guess is None:
            return f"{answer}; you wrote no guess"
        if not isinstance(guess, str):
            raise ValueError(f'guess must be a letter or a word in quotes, such as "a", got {guess!r}')
        right = guess.strip().casefold() == measured.casefold()
        return f"{answer}, as you said" if right else f"{answer}; you said {guess.strip()}"
    answer = f"measured ≈ {float(measured):.{digits}f}"
    if guess is None:
        return f"{answer}; you wrote no guess"
    if isinstance(guess, bool) or not isinstance(guess, Real):
        raise ValueError(f"guess must be a number, got {guess!r}")
    return f"{answer}; you said {float(guess):.{digits}f}, {abs(float(guess) - float(measured)):.{digits}f} away"
