"""Answers to exercise further.batch: what the worked solution measures, and what it measures with a slip."""

from answers import reported, right, unforeseen, wrong

MEASURED = {
    "seeds": [0, 1, 2],
    "small": [0.945, 0.97, 0.965],
    "large": [0.89, 0.855, 0.895],
    "scaled": [0.93, 0.905, 0.925],
    "conclusion": "helps",
}
ROUNDED = {"small": [0.94, 0.97, 0.96], "large": [0.89, 0.86, 0.9], "scaled": [0.93, 0.91, 0.93]}

right("further.batch")(lambda: MEASURED)
right("further.batch")(lambda: MEASURED | ROUNDED)
reported("further.batch", MEASURED, "small", "large", "scaled")

for slug, changes in (
    ("runs-differ", dict(small=[*MEASURED["small"], 0.93])),
    ("too-few-runs", dict(seeds=[0, 1])),
    ("one-run-repeated", dict(seeds=[0, 1, 1])),
    ("wrong-type", dict(seeds=3)),
    ("too-careful", dict(conclusion="cannot tell")),
    ("overlap-with-small-overlooked", dict(scaled=[0.945, 0.92, 0.93])),
    ("gap-overlooked", dict(conclusion="repairs")),
    ("more-than-the-numbers-say", dict(large=[0.905, 0.855, 0.905])),
    ("not-possible", dict(small=[1.21, 1.1, 1.35], large=[4.3, 4.1, 4.4], scaled=[1.5, 1.4, 1.6])),
    # Each slip measured for seeds 0 to 2.
    (
        "errors-for-accuracies",
        dict(small=[0.055, 0.03, 0.035], large=[0.11, 0.145, 0.105], scaled=[0.07, 0.095, 0.075]),
    ),
    ("a-loss", dict(small=[0.296, 0.256, 0.269], scaled=[0.357, 0.438, 0.305])),
    ("after-one-epoch", dict(small=[0.75, 0.7, 0.85], large=[0.665, 0.505, 0.675], scaled=[0.695, 0.565, 0.75])),
    ("another-setting", dict(small=MEASURED["large"], large=MEASURED["small"])),
    ("not-repeated", dict(small=[0.8, 0.78, 0.79], large=[0.7, 0.72, 0.71], scaled=[0.75, 0.76, 0.77])),
    ("another-setting", dict(small=[0.9, 0.87, 0.9], large=[0.9, 0.9, 0.9], scaled=[0.9, 0.9, 0.9])),
):
    wrong("further.batch", slug)(lambda changes=changes: MEASURED | changes)
unforeseen("further.batch")(lambda: MEASURED | {"small": [0.5, 0.52, 0.51], "scaled": [0.6, 0.58, 0.59]})
