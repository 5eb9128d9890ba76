"""Answers to exercise positions.patch_sizes."""

import copy

import torch

from answers import right, unforeseen, wrong

MEASURED = {
    "none": {4: [0.958, 0.96, 0.948], 2: [0.655, 0.675, 0.662], 1: [0.217, 0.203, 0.233]},
    "learned": {4: [0.963, 0.963, 0.96], 2: [0.882, 0.86, 0.87], 1: [0.347, 0.407, 0.385]},
    "conclusion": {"4 to 2": "grows", "2 to 1": "open"},
}
HIGH, LOW = [0.8, 0.81, 0.82], [0.25, 0.26, 0.27]


def changed(first="grows", second="open", **changes):
    found = copy.deepcopy(MEASURED) | {"conclusion": {"4 to 2": first, "2 to 1": second}}
    for place, values in changes.items():
        kind, side = place.split("_")
        found[kind][int(side)] = values
    return lambda: found


right("positions.patch_sizes")(changed())
right("positions.patch_sizes")(changed(none_4=torch.tensor([0.95, 0.96, 0.94]), first=" Grows"))
right("positions.patch_sizes")(changed(learned_1=HIGH, second="grows"))
right("positions.patch_sizes")(changed(learned_1=LOW, second="falls"))

wrong("positions.patch_sizes", "more-than-the-numbers-say")(changed(second="grows"))
wrong("positions.patch_sizes", "more-than-the-numbers-say")(changed(second="falls"))
wrong("positions.patch_sizes", "too-careful")(changed(first="open"))
wrong("positions.patch_sizes", "too-careful")(changed(learned_1=HIGH))
wrong("positions.patch_sizes", "wrong-direction")(changed(first="falls"))
wrong("positions.patch_sizes", "wrong-direction")(changed(learned_1=LOW, second="grows"))
wrong("positions.patch_sizes", "too-few-runs")(changed(none_1=[0.21, 0.2]))
wrong("positions.patch_sizes", "percent")(changed(none_4=[95.8, 96.0, 94.8]))
wrong("positions.patch_sizes", "nothing-changed")(changed(none_4=[0.963, 0.963, 0.96]))
wrong("positions.patch_sizes", "not-possible")(changed(none_1=[float("nan")] * 3))
wrong("positions.patch_sizes", "no-such-option")(changed(second="better"))
wrong("positions.patch_sizes", "no-such-option")(changed(first=None))
wrong("positions.patch_sizes", "wrong-type")(changed(none_1=0.21))
wrong("positions.patch_sizes", "wrong-keys")(lambda: {"none": MEASURED["none"], "conclusion": {}})
wrong("positions.patch_sizes", "wrong-keys")(lambda: MEASURED | {"learned": {4: [0.9] * 3}})
wrong("positions.patch_sizes", "wrong-keys")(lambda: MEASURED | {"conclusion": "grows"})
wrong("positions.patch_sizes", "wrong-keys")(
    lambda: MEASURED | {"none": {str(side): runs for side, runs in MEASURED["none"].items()}}
)
wrong("positions.patch_sizes", "errors-for-accuracies")(
    lambda: (
        MEASURED
        | {
            kind: {side: [1 - run for run in runs] for side, runs in MEASURED[kind].items()}
            for kind in ("none", "learned")
        }
    )
)
wrong("positions.patch_sizes", "returned-nothing")(lambda: None)
wrong("positions.patch_sizes", "wrong-type")(lambda: ["grows"])
wrong("positions.patch_sizes", "kinds-exchanged")(
    lambda: MEASURED | {"none": MEASURED["learned"], "learned": MEASURED["none"]}
)
unforeseen("positions.patch_sizes")(changed(none_2=[0.1, 0.1, 0.1]))


@wrong("positions.patch_sizes", "sides-exchanged")
def other_order():
    turned = {kind: dict(zip((1, 2, 4), MEASURED[kind].values(), strict=True)) for kind in ("none", "learned")}
    return MEASURED | turned
