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
