"""Answers to exercise patchify.cuts."""

from answers import reported, right, unforeseen, wrong

RIGHT, CLOSE, LOW, HIGH = [0.93, 0.95, 0.94], [0.96, 0.95, 0.94], [0.85, 0.86, 0.84], [0.97, 0.98, 0.985]
NONE = "no clear difference"
MEASURED = {"right": RIGHT, "flipped": CLOSE, "strips": CLOSE, "flipped_is": NONE, "strips_is": NONE}


@right("patchify.cuts")
def as_measured():
    return MEASURED


@right("patchify.cuts")
def strips_lower():
    return MEASURED | {"strips": LOW, "strips_is": "worse"}


@right("patchify.cuts")
def strips_higher():
    return MEASURED | {"strips": HIGH, "strips_is": " Better"}


@right("patchify.cuts")
def more_seeds():
    return MEASURED | {"right": [*RIGHT, 0.955, 0.9375]}


@right("patchify.cuts")
def as_far_apart_as_the_seeds():
    return MEASURED | {"strips": [0.95, 0.97, 0.96]}


reported("patchify.cuts", MEASURED, "right", "flipped", "strips")
for slug, changes in (
    ("nothing-changed", {"flipped": RIGHT}),
    ("more-than-the-numbers-say", {"flipped_is": "better"}),
    ("more-than-the-numbers-say", {"strips_is": "worse"}),
    ("too-careful", {"strips": LOW}),
    ("wrong-direction", {"strips": LOW, "strips_is": "better"}),
    ("wrong-direction", {"flipped": HIGH, "flipped_is": "worse"}),
    ("one-run-repeated", {"strips": [0.95, 0.95, 0.95]}),
    ("no-such-option", {"flipped_is": "equal"}),
    ("too-low", {"strips": [0.1, 0.11, 0.12], "strips_is": "worse"}),
    ("not-trained", {"strips": [0.93, 0.11, 0.92], "strips_is": "worse"}),
):
    wrong("patchify.cuts", slug)(lambda changes=changes: MEASURED | changes)
unforeseen("patchify.cuts")(lambda: MEASURED | {"strips": [0.998, 1.0, 0.9975], "strips_is": "better"})
