"""Answers to exercise further.rates: what the worked solution measures, and what it measures with a slip."""

from answers import reported, right, unforeseen, wrong

MEASURED = {
    "seeds": [0, 1, 2],
    "plain_low": [0.685, 0.625, 0.64],
    "plain_middle": [0.825, 0.745, 0.815],
    "plain_high": [0.615, 0.68, 0.715],
    "normed_low": [0.785, 0.7, 0.73],
    "normed_middle": [0.775, 0.8, 0.915],
    "normed_high": [0.605, 0.84, 0.885],
    "conclusion": "helps elsewhere",
}
LISTS = [name for name, numbers in MEASURED.items() if name not in ("seeds", "conclusion")]
# Two other kinds of rounding: two decimals, and weights that differ by a millionth.
ROUNDED = {name: [round(number + 1e-9, 2) for number in MEASURED[name]] for name in LISTS}
NUDGED = {
    "plain_middle": [0.825, 0.745, 0.805],
    "plain_high": [0.67, 0.635, 0.625],
    "normed_middle": [0.77, 0.8, 0.885],
    "normed_high": [0.69, 0.8, 0.855],
    "conclusion": "widens",
}

right("further.rates")(lambda: MEASURED)
right("further.rates")(lambda: MEASURED | ROUNDED)
right("further.rates")(lambda: MEASURED | NUDGED)
reported("further.rates", MEASURED, *LISTS)

for slug, changes in (
    ("runs-differ", dict(plain_high=[*MEASURED["plain_high"], 0.7])),
    ("too-few-runs", dict(seeds=[0, 1])),
    ("one-run-repeated", dict(seeds=[0, 1, 1])),
    ("wrong-type", dict(seeds=3)),
    ("too-careful", dict(conclusion="cannot tell")),
    ("another-rate-than-the-high-one", dict(conclusion="widens")),
    ("high-rate-overlooked", NUDGED | dict(conclusion="helps elsewhere")),
    ("not-possible", dict(plain_low=[1.185, 1.335, 1.242])),
    # Each slip measured for seeds 0 to 2.
    ("errors-for-accuracies", dict(plain_low=[0.315, 0.375, 0.36], normed_low=[0.215, 0.3, 0.27])),
    ("after-one-epoch", dict(plain_low=[0.27, 0.31, 0.3], normed_low=[0.425, 0.445, 0.365])),
    ("norm-or-not", dict(plain_low=MEASURED["normed_low"], normed_low=MEASURED["plain_low"])),
    ("another-rate", dict(plain_low=MEASURED["plain_middle"], normed_low=MEASURED["normed_middle"])),
    ("larger-patches", dict(plain_low=[0.945, 0.97, 0.965], normed_low=[0.97, 0.96, 0.955])),
    ("another-batch-size", dict(plain_low=[0.595, 0.53, 0.555], normed_low=[0.68, 0.605, 0.625])),
    ("not-repeated", dict(plain_low=[0.1, 0.1, 0.1], normed_low=[0.12, 0.11, 0.12])),
):
    wrong("further.rates", slug)(lambda changes=changes: MEASURED | changes)
unforeseen("further.rates")(lambda: MEASURED | {"plain_low": [0.5, 0.51, 0.49], "normed_low": [0.52, 0.53, 0.51]})
