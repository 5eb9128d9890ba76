"""Answers to exercise encoder.warm_up."""

import torch

from answers import UNKNOWN, Answers

answers = Answers("encoder.warm_up")

answers.edits(
    ("not-possible", "1.49", "-1.49"),
    ("wrong-answer", "1.49", "230.5"),
    ("more-than-the-numbers-say", "0.80]", "0.72]"),
    ("too-careful", '"helps"', '"not decided"'),
    ("wrong-direction", '"helps"', '"hurts"'),
    ("no-such-option", '"helps"', '"it helps a lot"'),
)


@answers.right
def rounded_otherwise():
    return {"seeds": [0, 1, 2], "without": [0.779, 1.49, 0.8], "with": [0.71, 0.74, 0.71], "conclusion": " Helps "}


@answers.right
def in_another_order():
    return {
        "seeds": (0, 2, 1),
        "without": [0.78, 0.80, 1.49],
        "with": torch.tensor([0.712, 0.711, 0.739]),
        "conclusion": "helps",
    }


@answers.right
def ranges_that_overlap():
    return {"seeds": [0, 1, 2], "without": [0.78, 1.49, 0.73], "with": [0.71, 0.74, 0.71], "conclusion": "Not decided"}


@answers.wrong(UNKNOWN)
def other_losses():
    return {"seeds": [0, 1, 2], "without": [0.78, 1.49, 0.8], "with": [0.3, 0.31, 0.32], "conclusion": "helps"}
