"""Answers to exercise without_labels.sharpness: what the worked solution measures, and what it measures with a slip."""

from answers import reported, right, unforeseen, wrong

MEASURED = {
    "seeds": [0, 1, 2],
    "untrained": [0.184, 0.163, 0.187],
    "sharp": [0.369, 0.282, 0.295],
    "middle": [0.235, 0.187, 0.229],
    "equal": [0.148, 0.12, 0.165],
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
    ("wrong-answer", dict(sharp=[36.9, 28.2, 29.5])),
    ("nothing-changed", dict(middle=MEASURED["sharp"], equal=MEASURED["sharp"], conclusion="equal")),
    ("seeds-not-paired", dict(ROUNDED, conclusion="sharp")),
    ("more-than-the-numbers-say", dict(conclusion="equal")),
    ("too-careful", dict(conclusion="none")),
    ("too-careful", dict(middle=[0.235, 0.19, 0.229], conclusion="sharp")),
    # Each slip measured for seeds 0 to 2.
    ("own-temperature", dict(sharp=[1.185, 0.975, 1.03], middle=[0.431, 0.347, 0.41])),
    ("exchanged", dict(sharp=MEASURED["equal"], equal=MEASURED["sharp"], conclusion="equal")),
):
    wrong("without_labels.sharpness", slug)(lambda changes=changes: MEASURED | changes)
unforeseen("without_labels.sharpness")(
    lambda: MEASURED | {"untrained": [0.25, 0.24, 0.26], "sharp": [0.5, 0.6, 0.55], "middle": [0.3, 0.31, 0.32]}
)
