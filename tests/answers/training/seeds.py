"""Answers to exercise training.seeds."""

from answers import UNKNOWN, Answers

answers = Answers("training.seeds")

WITHOUT = [0.955, 0.965, 0.95, 0.965]
PADDING = {
    "change": "padding",
    "seeds": [0, 1, 2, 3],
    "without": WITHOUT,
    "with": [0.835, 0.87, 0.845, 0.84],
    "conclusion": "hurts",
}

answers.reported(PADDING, "without", "with", fewest=4)


@answers.right
def warmup():
    return {
        "change": "warmup",
        "seeds": [0, 1, 2, 3],
        "without": WITHOUT,
        "with": [0.955, 0.98, 0.96, 0.965],
        "conclusion": "cannot tell",
    }


@answers.right
def label_smoothing():
    return {
        "change": "label_smoothing",
        "seeds": [0, 1, 2, 3],
        "without": WITHOUT,
        "with": [0.96, 0.97, 0.955, 0.97],
        "conclusion": "cannot tell",
    }


@answers.right
def clip_norm():
    return {
        "change": "clip_norm",
        "seeds": [3, 4, 5, 2],
        "without": [0.965, 0.935, 0.965, 0.95],
        "with": [0.97, 0.945, 0.965, 0.96],
        "conclusion": "cannot tell",
    }


@answers.wrong("more-than-the-numbers-say")
def one_run_as_good():
    return PADDING | {"with": [0.835, 0.965, 0.845, 0.84]}


@answers.wrong(UNKNOWN)
def nothing_changed():
    return PADDING | {"with": WITHOUT, "conclusion": "cannot tell"}
