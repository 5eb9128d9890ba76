"""Answers to exercise class_token.rates."""

from answers import reported, right, unforeseen, wrong

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
    return MEASURED | {"class_low": LOWER, "mean_low": LOW, "mean_low_is": "better"}


@right("class_token.rates")
def no_difference_at_all():
    return MEASURED | {"class_low": [0.6, 0.75, 0.68, 0.7], "mean_low_is": NONE, "mean_low": LOW}


reported("class_token.rates", MEASURED, "class_low", "mean_low", "class_high", "mean_high")
for slug, changes in (
    ("more-than-the-numbers-say", {"mean_high_is": "better"}),
    ("more-than-the-numbers-say", {"mean_high_is": "worse"}),
    ("too-careful", {"mean_low_is": NONE}),
    ("wrong-direction", {"mean_low_is": "better"}),
    ("one-run-repeated", {"class_high": [0.92, 0.92, 0.92]}),
    ("nothing-changed", {"mean_low": LOW}),
    ("not-possible", {"class_low": [1.2, 1.3, 1.25]}),
    ("no-such-option", {"mean_low_is": "same"}),
    (
        "rates-exchanged",
        {
            "class_low": MEASURED["class_high"],
            "class_high": MEASURED["class_low"],
            "mean_low": MEASURED["mean_high"],
            "mean_high": MEASURED["mean_low"],
        },
    ),
    ("too-low", {"mean_low": [0.1, 0.12, 0.09]}),
):
    wrong("class_token.rates", slug)(lambda changes=changes: MEASURED | changes)
unforeseen("class_token.rates")(lambda: MEASURED | {"mean_high": [0.93, 1.0, 0.92]})
