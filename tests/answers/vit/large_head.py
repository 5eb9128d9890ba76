"""Answers to exercise vit.large_head."""

from answers import UNKNOWN, Answers

answers = Answers("vit.large_head")

answers.edits(
    ("more-than-the-numbers-say", "0.78", "1.2"),
    ("too-careful", "slower", "not decided"),
    ("wrong-direction", "slower", "faster"),
)
answers.reported(
    {"seeds": range(1, 4), "small": [0.78, 0.79, 0.74], "large": [1.48, 1.57, 1.23], "conclusion": "slower"},
    "small",
    "large",
    percent=False,
)


@answers.right
def four_seeds():
    return {
        "seeds": [4, 6, 3, 5],
        "small": [0.75, 0.75, 0.74, 0.73],
        "large": [1.37, 1.47, 1.23, 1.91],
        "conclusion": "slower",
    }


@answers.wrong("seed-set-once")
def seed_set_once():
    return {"seeds": [0, 1, 2], "small": [0.69, 0.78, 0.79], "large": [0.75, 2.03, 1.52], "conclusion": "not decided"}


@answers.wrong(UNKNOWN)
def after_fifty_steps():
    return {"seeds": [0, 1, 2], "small": [0.4, 0.41, 0.42], "large": [0.9, 0.92, 0.93], "conclusion": "slower"}
