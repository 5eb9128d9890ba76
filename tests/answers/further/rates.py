"""Answers to exercise further.rates: what the worked solution measures, and what it measures with a mistake."""

from answers import UNKNOWN, Answers

answers = Answers("further.rates")

MEASURED: dict = {
    "seeds": [0, 1, 2],
    "plain_low": [0.685, 0.625, 0.64],
    "plain_middle": [0.825, 0.745, 0.815],
    "plain_high": [0.615, 0.68, 0.715],
    "normed_low": [0.785, 0.7, 0.73],
    "normed_middle": [0.775, 0.8, 0.915],
    "normed_high": [0.605, 0.84, 0.885],
    "conclusion": "helps elsewhere",
}
LISTS = [name for name in MEASURED if name not in ("seeds", "conclusion")]
# Two other kinds of rounding: two decimals, and weights that differ by a millionth.
ROUNDED = {name: [round(number + 1e-9, 2) for number in MEASURED[name]] for name in LISTS}
NUDGED = {
    "plain_middle": [0.825, 0.745, 0.805],
    "plain_high": [0.67, 0.635, 0.625],
    "normed_middle": [0.77, 0.8, 0.885],
    "normed_high": [0.69, 0.8, 0.855],
    "conclusion": "widens",
}
OTHER_RATES = {"plain_low": MEASURED["plain_middle"], "normed_low": MEASURED["normed_middle"]}
AFTER_ONE_EPOCH = {"plain_low": [0.27, 0.31, 0.3], "normed_low": [0.425, 0.445, 0.365]}

answers.reported(MEASURED, *LISTS)
answers.right(lambda: MEASURED | ROUNDED)
answers.right(lambda: MEASURED | NUDGED)
answers.wrong("too-careful")(lambda: MEASURED | {"conclusion": "cannot tell"})
answers.wrong("another-rate-than-the-high-one")(lambda: MEASURED | {"conclusion": "widens"})
answers.wrong("high-rate-overlooked")(lambda: MEASURED | NUDGED | {"conclusion": "helps elsewhere"})
answers.wrong("more-than-the-numbers-say")(lambda: MEASURED | {"normed_low": [0.785, 0.685, 0.73]})
answers.wrong("another-rate")(lambda: MEASURED | OTHER_RATES)
answers.wrong("runs-differ")(lambda: MEASURED | {"plain_high": [*MEASURED["plain_high"], 0.7]})
answers.wrong(UNKNOWN)(lambda: MEASURED | AFTER_ONE_EPOCH)
answers.wrong(UNKNOWN)(lambda: MEASURED | {"plain_low": [0.5, 0.51, 0.49], "normed_low": [0.52, 0.53, 0.51]})
