"""Answers to exercise further.batch."""

from answers import reported, right, unforeseen, wrong

MEASURED = {
    "small": [0.93, 0.945, 0.92],
    "large": [0.64, 0.6, 0.71],
    "scaled": [0.9, 0.925, 0.895],
    "conclusion": "repairs",
}
LOWER, OVERLAPPING = [0.8, 0.85, 0.79], [0.64, 0.905, 0.71]


@right("further.batch")
def repaired():
    return MEASURED


@right("further.batch")
def in_part():
    return MEASURED | {"scaled": LOWER, "conclusion": "helps"}


@right("further.batch")
def nothing_clear():
    return MEASURED | {"large": OVERLAPPING, "conclusion": "cannot tell"}


reported("further.batch", MEASURED, "small", "large", "scaled")


def _batch(mistake, **changes):
    wrong("further.batch", mistake)(lambda: MEASURED | changes)


_batch("not-of-the-validation-images", scaled=[0.9, 0.9312, 0.895])
_batch("too-low", large=[0.1, 0.09, 0.12])
_batch("runs-differ", small=[*MEASURED["small"], 0.93])
_batch("one-run-repeated", small=[0.93] * 3, large=[0.6] * 3, scaled=[0.9] * 3)
_batch("nothing-changed", scaled=MEASURED["large"])
_batch("more-than-the-numbers-say", large=OVERLAPPING)
_batch("too-careful", conclusion="cannot tell")
_batch("gap-overlooked", scaled=LOWER)
_batch("overlap-with-small-overlooked", conclusion="helps")
_batch("exchanged", small=MEASURED["large"], large=MEASURED["small"])
_batch("not-possible", small=[1.21, 1.1, 1.35], large=[4.3, 4.1, 4.4], scaled=[1.5, 1.4, 1.6])
# Measured on seeds 0 to 2: the losses; after the first epoch; for 24 epochs; with a rate 16 times as large.
SMALL, LARGE, SCALED = [0.945, 0.97, 0.965], [0.89, 0.855, 0.895], [0.93, 0.905, 0.925]
right("further.batch")(lambda: {"small": SMALL, "large": LARGE, "scaled": SCALED, "conclusion": "helps"})
_batch("not-possible", small=[0.296, 0.256, 0.269], large=[1.281, 1.386, 1.246], scaled=[0.357, 0.438, 0.305])
_batch("not-trained", small=[0.75, 0.7, 0.85], large=[0.665, 0.505, 0.675], scaled=[0.695, 0.565, 0.75])
_batch("large-too-good", small=SMALL, large=[0.965, 0.975, 0.97], scaled=[0.97, 0.955, 0.97])
_batch("scaled-below-large", small=SMALL, large=LARGE, scaled=[0.79, 0.57, 0.75], conclusion="cannot tell")
_batch("scaled-below-large", small=SMALL, large=SCALED, scaled=[*LARGE[:2], 0.89], conclusion="cannot tell")
_batch("scaled-below-large", small=SMALL, large=LARGE, scaled=[0.86, 0.835, 0.855], conclusion="cannot tell")
_batch("rounded", small=[0.9, 1.0, 1.0], large=[0.9, 0.9, 0.9], scaled=[0.9, 0.9, 0.9], conclusion="cannot tell")
unforeseen("further.batch")(lambda: MEASURED | {"small": [0.93, 1.0, 0.92]})
