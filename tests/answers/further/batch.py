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
unforeseen("further.batch")(lambda: MEASURED | {"small": [0.93, 1.0, 0.92]})
