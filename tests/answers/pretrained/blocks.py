"""Answers to exercise pretrained.blocks."""

import numpy as np

from answers import right, unforeseen, wrong

MEASURED = {
    2: [0.67, 0.39, 0.35, 0.56],
    5: [0.71, 0.40, 0.44, 0.65],
    8: [0.86, 0.57, 0.61, 0.74],
    11: [0.93, 0.85, 0.94, 0.83],
}
# As with other photographs: block 8 is ahead in one run of three.
MIXED = MEASURED | {8: [0.95, 0.57, 0.61, 0.74]}


@right("pretrained.blocks")
def measured():
    return MEASURED, 11


@right("pretrained.blocks")
def as_arrays():
    return {block: np.array(values) for block, values in MEASURED.items()}, np.int64(11)


@right("pretrained.blocks")
def with_an_exception():
    return MIXED, "unclear"


def _wrong(slug, overlaps, conclusion):
    wrong("pretrained.blocks", slug)(lambda: (overlaps, conclusion))


_wrong("does-not-follow", MIXED, 11)
_wrong("does-not-follow", MEASURED, 8)
_wrong("too-careful", MEASURED, "unclear")
_wrong("no-such-option", MEASURED, 12)
_wrong("no-such-option", MEASURED, "the last")
_wrong("block-missing", {block: MEASURED[block] for block in (2, 5, 11)}, 11)
_wrong("too-few-runs", {block: values[:2] for block, values in MEASURED.items()}, 11)
_wrong("runs-differ", MEASURED | {2: [0.67, 0.39, 0.35]}, 11)
_wrong("one-run-repeated", {block: [values[0]] * 4 for block, values in MEASURED.items()}, 11)
_wrong("percent", {block: [100 * value for value in values] for block, values in MEASURED.items()}, 11)
_wrong("labelled-counted", MEASURED | {11: [0.98, 0.99, 0.985, 1.0]}, 11)
_wrong("number-as-text", MEASURED, "11")
_wrong("no-such-option", MEASURED, None)
_wrong("number-as-text", {str(block): values for block, values in MEASURED.items()}, 11)
# With astronaut, dahlia and photographer, and a slip each.
for slug, *columns in (
    ("labelled-counted", [0.71, 0.75, 0.88, 0.94], [0.48, 0.48, 0.63, 0.87], [0.44, 0.52, 0.66, 0.94]),
    ("labelled-alone", [0.971, 0.993, 1.0, 0.971], [1.0, 1.0, 0.989, 0.989], [0.989, 0.977, 1.0, 0.954]),
    ("divided-by-seven", [0.572, 0.611, 0.734, 0.799], [0.334, 0.34, 0.491, 0.732], [0.3, 0.377, 0.521, 0.801]),
    ("blocks-from-one", [0.667, 0.688, 0.78, 0.902], [0.387, 0.449, 0.578, 0.74], [0.352, 0.401, 0.387, 0.811]),
    ("class-token-kept", [0.624, 0.638, 0.713, 0.785], [0.384, 0.341, 0.359, 0.629], [0.315, 0.363, 0.547, 0.749]),
    ("accuracies", [0.768, 0.828, 0.926, 0.963], [0.46, 0.675, 0.751, 0.921], [0.475, 0.577, 0.753, 0.961]),
    ("before-the-mlp", [0.66, 0.685, 0.851, 0.927], [0.382, 0.283, 0.636, 0.843], [0.35, 0.386, 0.491, 0.935]),
    ("blocks-alike", [0.923] * 4, [0.826] * 4, [0.936] * 4),
):
    _wrong(slug, dict(zip(MEASURED, map(list, zip(*columns, strict=True)), strict=True)), 11)
_wrong("other-keys", {f"block {block}: after MLP": values for block, values in MEASURED.items()}, 11)
_wrong("other-keys", {"astronaut": [0.67, 0.71, 0.86, 0.93], "dahlia": [0.39, 0.4, 0.57, 0.85]}, 11)
right("pretrained.blocks")(lambda: [MEASURED, 11])
wrong("pretrained.blocks", "returned-nothing")(lambda: None)
wrong("pretrained.blocks", "wrong-type")(lambda: MEASURED)


@unforeseen("pretrained.blocks")
def on_random_weights():
    return {
        2: [0.31, 0.28, 0.35],
        5: [0.32, 0.27, 0.34],
        8: [0.33, 0.26, 0.33],
        11: [0.34, 0.25, 0.32],
    }, "unclear"
