"""Answers to exercise maps.way_up: what the worked solution measures, and what it measures with a mistake."""

from answers import UNKNOWN, Answers

answers = Answers("maps.way_up")

MEASURED: dict = {
    "photographs": ["abbey", "astronaut", "bee", "bowl", "cat", "clock", "coffee", "dahlia", "dogs", "drums"],
    "plain": [0.6246, 0.5725, 0.6646, 0.6163, 0.7028, 0.7097, 0.5878, 0.5877, 0.6419, 0.5577],
    "shuffled": [0.4079, 0.2899, 0.4615, 0.3269, 0.4747, 0.6219, 0.3572, 0.2788, 0.4107, 0.3174],
    "flat": [0.6519, 0.4999, 0.5799, 0.5266, 0.5095, 0.6579, 0.5527, 0.6457, 0.66, 0.5492],
    "conclusion": "torn content disturbs",
}
ONE_MORE = {"photographs": "pagoda", "plain": 0.483, "shuffled": 0.276, "flat": 0.65}

answers.reported(MEASURED, "plain", "shuffled", "flat", fewest=10)


@answers.right
def two_decimals():
    return {
        "photographs": ["abbey", "astronaut", "bee", "bowl", "cat", "clock", "coffee", "dahlia", "dogs", "drums"],
        "plain": [0.62, 0.57, 0.66, 0.62, 0.7, 0.71, 0.59, 0.59, 0.64, 0.56],
        "shuffled": [0.41, 0.29, 0.46, 0.33, 0.47, 0.62, 0.36, 0.28, 0.41, 0.32],
        "flat": [0.65, 0.5, 0.58, 0.53, 0.51, 0.66, 0.55, 0.65, 0.66, 0.55],
        "conclusion": "torn content disturbs",
    }


@answers.right
def eleven_photographs():
    return MEASURED | {name: [*MEASURED[name], one] for name, one in ONE_MORE.items()}


@answers.wrong("does-not-follow")
def place():
    return MEASURED | {"conclusion": "place"}


@answers.wrong("does-not-follow")
def content_helps():
    return MEASURED | {"conclusion": "content helps"}


@answers.wrong("runs-differ")
def one_name_too_many():
    return MEASURED | {"photographs": [*MEASURED["photographs"], "pagoda"]}


@answers.wrong("one-run-repeated")
def cat_twice():
    return MEASURED | {"photographs": [*MEASURED["photographs"][:9], "cat"]}


@answers.wrong("first-row-counted")
def first_row_counted():
    return MEASURED | {"plain": [number * 240 / 256 for number in MEASURED["plain"]]}


@answers.wrong("rescaled")
def rescaled():
    return MEASURED | {"plain": [0.6412, 0.5842, 0.6817, 0.6268, 0.7118, 0.712, 0.5996, 0.5924, 0.6586, 0.5677]}


@answers.wrong(UNKNOWN)
def another_order():
    return MEASURED | {"shuffled": [0.2, 0.23, 0.22, 0.2, 0.21, 0.2, 0.2, 0.2, 0.2, 0.2]}
