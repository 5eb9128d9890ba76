"""Answers to exercise without_labels.sharpness: what the worked solution measures, and what it measures with a slip."""

from answers import reported, right, unforeseen, wrong

MEASURED = {
    "seeds": [0, 1, 2],
    "untrained": [0.184, 0.163, 0.187],
    "sharp": [0.366, 0.262, 0.281],
    "middle": [0.233, 0.175, 0.227],
    "equal": [0.147, 0.115, 0.165],
    "conclusion": "middle",
}
SETTINGS = ("untrained", "sharp", "middle", "equal")
ROUNDED = {name: [round(one, 2) for one in MEASURED[name]] for name in SETTINGS}

right("without_labels.sharpness")(lambda: MEASURED)
right("without_labels.sharpness")(lambda: MEASURED | ROUNDED)
reported("without_labels.sharpness", MEASURED, *SETTINGS, percent=False)

for slug, changes in (
    ("runs-differ", dict(equal=[*MEASURED["equal"], 0.14])),
    ("too-few-runs", dict(seeds=[0, 1])),
    ("one-run-repeated", dict(seeds=[0, 1, 1])),
    ("wrong-type", dict(seeds=3)),
    ("counts", dict(sharp=[1, 2, 1])),
    ("wrong-answer", dict(sharp=[36.6, 26.2, 28.1])),
    ("nothing-changed", dict(middle=MEASURED["sharp"], equal=MEASURED["sharp"], conclusion="equal")),
    ("seeds-not-paired", dict(ROUNDED, conclusion="sharp")),
    ("more-than-the-numbers-say", dict(conclusion="equal")),
    ("too-careful", dict(conclusion="none")),
    ("too-careful", dict(middle=[0.233, 0.19, 0.227], conclusion="sharp")),
    # Each slip measured for seeds 0 to 2.
    ("own-temperature", dict(sharp=[1.196, 0.954, 0.983], middle=[0.442, 0.326, 0.413])),
    ("exchanged", dict(sharp=MEASURED["equal"], equal=MEASURED["sharp"], conclusion="equal")),
):
    wrong("without_labels.sharpness", slug)(lambda changes=changes: MEASURED | changes)
unforeseen("without_labels.sharpness")(
    lambda: MEASURED | {"untrained": [0.25, 0.24, 0.26], "sharp": [0.5, 0.6, 0.55], "middle": [0.3, 0.31, 0.32]}
)
