"""Answers to exercise pretrained.blocks: what the worked solution measures, and what it measures with a mistake."""

from answers import UNKNOWN, Answers

answers = Answers("pretrained.blocks")

MEASURED: dict = {
    "photographs": ["astronaut", "dahlia", "photographer"],
    "block 2": [0.667, 0.39, 0.35],
    "block 5": [0.713, 0.396, 0.439],
    "block 8": [0.857, 0.573, 0.608],
    "block 11": [0.932, 0.854, 0.935],
    "conclusion": "block 11",
}
BLOCKS = [name for name in MEASURED if name.startswith("block")]

answers.reported(MEASURED, *BLOCKS)


@answers.right
def in_another_order():
    return {name: value if name == "conclusion" else value[::-1] for name, value in MEASURED.items()}


@answers.wrong("labelled-counted")
def mean_of_all_seven():
    return MEASURED | {
        "block 2": [0.711, 0.477, 0.441],
        "block 5": [0.753, 0.483, 0.516],
        "block 8": [0.877, 0.632, 0.664],
        "block 11": [0.937, 0.874, 0.938],
    }


answers.wrong("does-not-follow")(lambda: MEASURED | {"conclusion": "block 8"})
answers.wrong("does-not-follow")(lambda: MEASURED | {"conclusion": "unclear"})
answers.wrong("no-such-option")(lambda: MEASURED | {"conclusion": 11})
answers.wrong("no-such-option")(lambda: MEASURED | {"photographs": ["astronaut", "dahlia", "dog"]})
answers.wrong("one-run-repeated")(lambda: MEASURED | {"photographs": ["astronaut", "dahlia", "dahlia"]})
answers.wrong("too-few-runs")(lambda: MEASURED | {"photographs": ["astronaut", "dahlia"]})
answers.wrong("wrong-type")(lambda: MEASURED | {"photographs": "astronaut"})
answers.wrong("runs-differ")(lambda: MEASURED | {"photographs": ["astronaut", "dahlia", "photographer", "cat"]})
answers.wrong("wrong-type")(lambda: ({2: [0.67, 0.39, 0.35]}, 11))
answers.wrong(UNKNOWN)(lambda: MEASURED | {"block 2": [0.31, 0.28, 0.35], "block 11": [0.34, 0.25, 0.32]})
