"""Answers to exercise class_token.rates."""

import numpy as np

from answers import right, unforeseen, wrong

LOWER, LOW, HIGH, HIGHER = [0.61, 0.62, 0.6], [0.72, 0.74, 0.73], [0.92, 0.93, 0.9], [0.93, 0.91, 0.92]
NONE = "no clear difference"
MEASURED = {
    "class_low": LOW,
    "mean_low": LOWER,
    "class_high": HIGH,
    "mean_high": HIGHER,
    "mean_low_is": "worse",
    "mean_high_is": NONE,
}


@right("class_token.rates")
def as_measured():
    return MEASURED


@right("class_token.rates")
def the_other_way():
    return MEASURED | {"class_low": LOWER, "mean_low": np.array(LOW), "mean_low_is": "better"}


@right("class_token.rates")
def no_difference_at_all():
    return MEASURED | {"class_low": (0.6, 0.75, 0.68, 0.7), "mean_low_is": NONE, "mean_low": LOW}


for slug, changes in (
    ("difference-within-spread", {"mean_high_is": "better"}),
    ("difference-within-spread", {"mean_high_is": "worse"}),
    ("difference-overlooked", {"mean_low_is": NONE}),
    ("direction-reversed", {"mean_low_is": "better"}),
    ("too-few-runs", {"mean_low": [0.6]}),
    ("percent", {"mean_high": [93, 91, 92]}),
    ("one-run-repeated", {"class_high": [0.92, 0.92, 0.92]}),
    ("no-such-option", {"mean_high_is": "same"}),
    ("wrong-type", {"class_low": "0.72"}),
):
    wrong("class_token.rates", slug)(lambda changes=changes: MEASURED | changes)
wrong("class_token.rates", "wrong-keys")(lambda: {"class_low": LOW})
unforeseen("class_token.rates")(lambda: MEASURED | {"mean_low": [0.1, 0.12, 0.09]})
