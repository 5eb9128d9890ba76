"""The sentence that ends a prediction's cell."""

import pytest
import torch
from conftest import cases

from vit_course.checks import guessed


@cases(
    ("guess", "measured", "said"),
    [
        (None, 0.6249, "measured ≈ 0.62; you wrote no guess"),
        (0.5, torch.tensor(0.6249), "measured ≈ 0.62; you said 0.50, 0.12 away"),
        (1, 0.6249, "measured ≈ 0.62; you said 1.00, 0.38 away"),
        (None, 1200, "it is 1,200; you wrote no guess"),
        (1000, 1200, "it is 1,200; you said 1,000, 200 away"),
        (2.5, 3, "it is 3; you said 2.5, 0.5 away"),
        (3, 3, "it is 3, as you said"),
        (None, "b", "it is b; you wrote no guess"),
        (" B ", "b", "it is b, as you said"),
        ("a", "b", "it is b; you said a"),
    ],
    ids=str,
)
def test_a_guess_stands_beside_what_was_measured(guess, measured, said):
    assert guessed(guess, measured) == said


@cases(("guess", "measured", "wanted"), [("a", 0.5, "a number, got 'a'"), (2, "b", "a letter or a word")])
def test_a_guess_of_another_kind_is_refused_by_name(guess, measured, wanted):
    with pytest.raises(ValueError, match=wanted):
        guessed(guess, measured)
