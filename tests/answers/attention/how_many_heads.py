"""Answers to exercise attention.how_many_heads."""

import torch

from answers import right, unforeseen, wrong

ERRORS = {
    (1, 1): [0.001, 0.002, 0.001],
    (1, 2): [0.001, 0.001, 0.002],
    (1, 4): [0.0, 0.001, 0.001],
    (2, 1): [0.489, 0.502, 0.511],
    (2, 2): [0.002, 0.001, 0.001],
    (2, 4): [0.0, 0.0, 0.001],
}
FALLING = ERRORS | {(1, 1): [0.5, 0.51, 0.52], (1, 2): [0.2, 0.21, 0.22], (2, 2): [0.2, 0.21, 0.2]}
FLAT = {setting: [0.5, 0.51, 0.52] for setting in ERRORS}


def _answer(errors=None, conclusion="enough"):
    return {"errors": ERRORS if errors is None else errors, "conclusion": conclusion}


@right("attention.how_many_heads")
def written_down():
    return _answer()


@right("attention.how_many_heads")
def four_seeds_as_tensors():
    return _answer({s: torch.tensor([*seeds, seeds[0]]) for s, seeds in ERRORS.items()}, " Enough ")


@right("attention.how_many_heads")
def with_three_things_too():
    return _answer(ERRORS | {(3, 1): [0.66, 0.67, 0.66]})


for slug, errors, conclusion in (
    ("does-not-follow", ERRORS, "more"),
    ("does-not-follow", ERRORS, "never"),
    ("does-not-follow", FALLING, "enough"),
    ("does-not-follow", FLAT, "enough"),
    ("wrong-type", ERRORS, None),
    ("settings-missing", {s: ERRORS[s] for s in list(ERRORS)[:5]}, "enough"),
    ("settings-exchanged", {(heads, things): runs for (things, heads), runs in ERRORS.items()}, "enough"),
    ("things-ignored", {(things, heads): ERRORS[1, heads] for things, heads in ERRORS}, "never"),
    ("heads-ignored", {(things, heads): ERRORS[things, 1] for things, heads in ERRORS}, "never"),
    ("not-trained", {setting: [1.0, 0.99, 1.01] for setting in ERRORS}, "never"),
    ("too-few-runs", ERRORS | {(2, 1): [0.5]}, "enough"),
    ("wrong-type", ERRORS | {(2, 1): 0.5}, "enough"),
    ("one-run-repeated", ERRORS | {(2, 1): [0.5, 0.5, 0.5]}, "enough"),
    ("not-possible", ERRORS | {(2, 1): [-0.5, 0.5, 0.4]}, "enough"),
    ("wrong-type", [1, 2], "enough"),
    ("wrong-keys", {f"{things}, {heads}": runs for (things, heads), runs in ERRORS.items()}, "enough"),
    ("wrong-keys", {things: {heads: ERRORS[things, heads] for heads in (1, 2, 4)} for things in (1, 2)}, "enough"),
    (
        "arguments-exchanged",
        ERRORS
        | {
            (1, 2): [0.5, 0.51, 0.52],
            (1, 4): [0.75, 0.76, 0.74],
            (2, 1): [0.01, 0.02, 0.03],
            (2, 4): [0.5, 0.49, 0.52],
        },
        "never",
    ),
):
    wrong("attention.how_many_heads", slug)(lambda e=errors, c=conclusion: _answer(e, c))
wrong("attention.how_many_heads", "not-possible")(lambda: _answer(ERRORS | {(2, 1): [float("nan"), 0.5, 0.4]}))
wrong("attention.how_many_heads", "wrong-keys")(lambda: {"errors": ERRORS})
wrong("attention.how_many_heads", "no-such-option")(lambda: _answer(conclusion="two heads"))
# The conclusion follows, but from numbers that the training does not give.
unforeseen("attention.how_many_heads")(lambda: _answer(FALLING, "more"))
unforeseen("attention.how_many_heads")(lambda: _answer(FLAT, "never"))
unforeseen("attention.how_many_heads")(lambda: _answer(ERRORS | {(2, 1): [0.2, 0.21, 0.2]}))
