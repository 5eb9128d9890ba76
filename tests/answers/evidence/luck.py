"""Answers to exercise evidence.luck: what the worked solution measures, and what it measures with a mistake."""

from answers import UNKNOWN, Answers

answers = Answers("evidence.luck")

MEASURED = {
    "seeds": [2, 1, 0, 3, 4],
    "chosen": [0.1699, 0.1748, 0.1995, 0.1933, 0.1862],
    "held_out": [0.1535, 0.1588, 0.1619, 0.162, 0.1748],
    "conclusion": "the choice",
}

answers.reported(MEASURED, "chosen", "held_out", fewest=5)


@answers.right
def two_decimals():
    return {
        "seeds": (0, 1, 2, 3, 4),
        "chosen": [0.2, 0.17, 0.17, 0.19, 0.19],
        "held_out": [0.16, 0.16, 0.15, 0.16, 0.17],
        "conclusion": "the choice",
    }


@answers.wrong("does-not-follow")
def the_head():
    return MEASURED | {"conclusion": "the head"}


@answers.wrong("runs-differ")
def a_seed_too_many():
    return MEASURED | {"seeds": range(6)}


@answers.wrong("one-run-repeated")
def a_seed_twice():
    return MEASURED | {"seeds": [2, 1, 0, 3, 3]}


@answers.wrong("same-images")
def same_images():
    return MEASURED | {"held_out": MEASURED["chosen"]}


@answers.wrong("chosen-anew")
def chosen_anew():
    return MEASURED | {"held_out": [0.1652, 0.1631, 0.1746, 0.1791, 0.1748], "conclusion": "the head"}


@answers.wrong("not-repeated")
def other_seeds():
    return MEASURED | {"seeds": [5, 6, 7, 8, 9]}


@answers.wrong(UNKNOWN)
def chance_subtracted():
    return MEASURED | {"held_out": [0.0035, 0.0088, 0.0119, 0.012, 0.0248]}
