"""Answers to exercise class_token.rates."""

from answers import UNKNOWN, Answers

answers = Answers("class_token.rates")
MEASURED = {
    "seeds": [0, 1, 2],
    "class_low": [0.675, 0.642, 0.72],
    "mean_low": [0.637, 0.623, 0.63],
    "class_high": [0.877, 0.87, 0.873],
    "mean_high": [0.89, 0.917, 0.925],
    "mean_low_is": "no clear difference",
    "mean_high_is": "better",
}

answers.reported(MEASURED, "class_low", "mean_low", "class_high", "mean_high")
answers.edits(
    ("more-than-the-numbers-say", '"no clear difference"', '"worse"'),
    ("too-careful", '"better"', '"no clear difference"'),
    ("wrong-direction", '"better"', '"worse"'),
    ("returned-nothing", "return {", "{"),
)


@answers.right
def two_decimals():
    return {
        "seeds": [0, 1, 2],
        "class_low": [0.68, 0.64, 0.72],
        "mean_low": [0.64, 0.62, 0.63],
        "class_high": [0.88, 0.87, 0.87],
        "mean_high": [0.89, 0.92, 0.92],
        "mean_low_is": "no clear difference",
        "mean_high_is": "better",
    }


@answers.right
def another_conclusion():
    low = {"class_low": [0.66, 0.66, 0.7], "mean_low": [0.62, 0.61, 0.61]}
    return MEASURED | low | {"mean_low_is": "worse"}


@answers.wrong("nothing-changed")
def one_list_twice():
    return MEASURED | {"mean_low": [0.675, 0.642, 0.72]}


@answers.wrong("runs-differ")
def one_run_more():
    return MEASURED | {"mean_low": [0.637, 0.623, 0.63, 0.64]}


@answers.wrong(UNKNOWN)
def other_runs():
    return MEASURED | {"class_low": [0.5, 0.51, 0.5], "mean_low": [0.52, 0.5, 0.51]}
