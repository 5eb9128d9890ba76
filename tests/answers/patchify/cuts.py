"""Answers to exercise patchify.cuts."""

import torch

from answers import right, unforeseen, wrong

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
    return MEASURED | {"strips": torch.tensor(HIGH), "strips_is": " Better"}


@right("patchify.cuts")
def more_seeds():
    return MEASURED | {"right": (*RIGHT, 0.955, 0.9375), "flipped": tuple(CLOSE)}


for slug, changes in (
    ("difference-within-spread", {"flipped_is": "better"}),
    ("difference-within-spread", {"strips_is": "worse"}),
    ("difference-overlooked", {"strips": LOW}),
    ("direction-reversed", {"strips": LOW, "strips_is": "better"}),
    ("direction-reversed", {"flipped": HIGH, "flipped_is": "worse"}),
    ("too-few-runs", {"right": [0.94, 0.95]}),
    ("percent", {"right": [93, 95, 94]}),
    ("one-run-repeated", {"strips": [0.95, 0.95, 0.95]}),
    ("no-such-option", {"flipped_is": "equal"}),
    ("no-such-option", {"flipped_is": True}),
    ("wrong-type", {"right": 0.94}),
    ("wrong-type", {"right": ["0.94", "0.95", "0.93"]}),
):
    wrong("patchify.cuts", slug)(lambda changes=changes: MEASURED | changes)
wrong("patchify.cuts", "wrong-keys")(lambda: {"right": RIGHT})
unforeseen("patchify.cuts")(lambda: MEASURED | {"strips": [0.1, 0.11, 0.12], "strips_is": "worse"})
