"""Exercise start.removed: which part the clock reader can least do without, judged by the learner's own numbers."""

import math

from vit_course.checks.report import Wrong
from vit_course.checks.tools.by_hand import same_answer
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, by_value
from vit_course.checks.tools.returned import named, real

PARTS = ("positions", "attention", "mlp")

# What a thousand steps give: seeds and processors move the shares by some hundredths. In res/experiments, five seeds
# gave from 0.92 to 0.94, from 0.70 to 0.79 without positions, from 0.86 to 0.89 without the MLP; a blind guess is right
# once in 144.
SHARES = {
    "whole": (0.88, 0.97),
    "without_positions": (0.65, 0.85),
    "without_attention": (0, 0.04),
    "without_mlp": (0.82, 0.93),
}


def removed(answer, parts):
    """`answer()` -> four shares of clocks read right, the part most needed, and why."""
    # To make one of the models again takes longer than a learner would wait; the table knows what a share can be.
    received = named(call(answer), (*SHARES, "most_needed", "because"))
    shares = {name: _number(received[name]) for name in SHARES}
    whole, *others = shares.values()
    if whole < min(others) and 1 < max(others) <= 10:
        raise Wrong("losses-for-shares", "These look like losses: a share lies between 0 and 1.")
    for name, share in shares.items():
        with parts(name):
            real(received[name])
            if 10 < max(shares.values()) <= 100:
                raise Wrong("percent", "These look like percentages: a share lies between 0 and 1.")
            _plausible(name, share)
    with parts("most_needed"):
        without = {part: real(received[f"without_{part}"]) for part in PARTS}
        least = min(without, key=without.get)
        mistake = ("conclusion-against-numbers", "By your own numbers, removing another part costs more.")
        same_answer(received["most_needed"], least, dict.fromkeys({*PARTS} - {least}, mistake))
    with parts("because"):
        same_answer(received["because"], "b", by_value(BECAUSE))


def _number(received) -> float:
    try:
        return real(received)
    except Wrong:
        return math.nan


def _plausible(name: str, share: float) -> None:
    low, high = SHARES[name]
    if not 0 <= share <= 1:
        raise Wrong("wrong-answer", f"{share:g} is not a share: a share lies between 0 and 1.")
    if name == "whole" and share < low:
        sentence = "The whole model reads fewer clocks correctly than a model does after 1000 steps."
        raise Wrong("not-trained", sentence)
    if not low <= share <= high:
        sentence = "We trained this model with five seeds, and none of them gave nearly such a share."
        raise Wrong("not-repeated", sentence)


# Would mislead: without them, the other options would not be known as options.
BECAUSE = [
    Mistake(
        "size-taken-for-cause",
        "The model without the MLP has lost about as many parameters, but it still reads clocks.",
        "a",
    ),
    Mistake(
        "more-steps-hoped-for",
        "More steps would change nothing: ask what the class token can know about the picture.",
        "c",
    ),
]
