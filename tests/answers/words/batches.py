"""Answers to exercise words.batches."""

from answers import UNKNOWN, Answers

answers = Answers("words.batches")

MEASURED = {
    "seeds": [0, 1, 2],
    "drawn": [0.067, 0.061, 0.051],
    "sorted": [0.133, 0.131, 0.131],
    "conclusion": "sorted",
}

answers.reported(MEASURED, "drawn", "sorted", percent=False)
answers.edits(
    ("too-careful", '"conclusion": "sorted"', '"conclusion": "cannot tell"'),
    ("wrong-direction", '"conclusion": "sorted"', '"conclusion": "drawn"'),
    ("returned-nothing", "return {", "{"),
)


@answers.right
def two_decimals():
    return {"seeds": range(3), "drawn": [0.07, 0.06, 0.05], "sorted": [0.13, 0.13, 0.13], "conclusion": "sorted"}


@answers.wrong(UNKNOWN)
def drawn_too_small():
    return MEASURED | {"drawn": [0.01, 0.02, 0.03]}
