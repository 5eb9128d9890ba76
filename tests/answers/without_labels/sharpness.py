"""Answers to exercise without_labels.sharpness: what the solution measures, and what mistakes give."""

from answers import UNKNOWN, Answers

answers = Answers("without_labels.sharpness")

MEASURED: dict = {
    "seeds": [0, 1, 2],
    "untrained": [0.184, 0.163, 0.187],
    "sharp": [0.366, 0.262, 0.281],
    "middle": [0.233, 0.175, 0.227],
    "equal": [0.147, 0.115, 0.165],
    "conclusion": "middle",
}
SETTINGS = ("untrained", "sharp", "middle", "equal")
ROUNDED = MEASURED | {name: [round(one, 2) for one in MEASURED[name]] for name in SETTINGS}

answers.reported(MEASURED, *SETTINGS, percent=False)
answers.right(lambda: ROUNDED)


@answers.wrong("own-temperature")
def each_at_its_own_temperature():
    return MEASURED | {"sharp": [1.196, 0.954, 0.983], "middle": [0.442, 0.326, 0.413]}


@answers.wrong("exchanged")
def sharp_and_equal_exchanged():
    return MEASURED | {"sharp": MEASURED["equal"], "equal": MEASURED["sharp"], "conclusion": "equal"}


answers.wrong("runs-differ")(lambda: MEASURED | {"equal": [0.147, 0.115, 0.165, 0.14]})
answers.wrong("one-run-repeated")(lambda: MEASURED | {"seeds": [0, 1, 1]})
answers.wrong("wrong-type")(lambda: MEASURED | {"seeds": 3})
answers.wrong("counts")(lambda: MEASURED | {"sharp": [1, 2, 1]})
answers.wrong("wrong-answer")(lambda: MEASURED | {"sharp": [36.6, 26.2, 28.1]})
answers.wrong("nothing-changed")(lambda: MEASURED | {"equal": MEASURED["sharp"], "conclusion": "equal"})
answers.wrong("seeds-not-paired")(lambda: ROUNDED | {"conclusion": "sharp"})
answers.wrong("more-than-the-numbers-say")(lambda: MEASURED | {"conclusion": "equal"})
answers.wrong("too-careful")(lambda: MEASURED | {"conclusion": "none"})
answers.wrong("too-careful")(lambda: MEASURED | {"middle": [0.233, 0.19, 0.227], "conclusion": "sharp"})
answers.wrong(UNKNOWN)(lambda: MEASURED | {"untrained": [0.17, 0.14, 0.16], "sharp": [0.5, 0.6, 0.55]})
