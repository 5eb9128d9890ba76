"""Exercise start.removed: which part the clock reader can least do without, judged by the learner's own numbers."""

import math

from vit_course.checks.report import Wrong
from vit_course.checks.tools.by_hand import same_answer
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import Mistake
from vit_course.checks.tools.mistakes import Slip, by_value, refuse, wrong_functions
from vit_course.checks.tools.returned import named, real

PARTS = ("positions", "attention", "mlp")
SHARES = ("whole", *(f"without_{part}" for part in PARTS))


def removed(answer, parts):
    """`answer()` -> four shares of clocks read right, the part most needed, and why."""
    # To make one of the models again takes longer than a learner would wait; the tables know what a share can be.
    received = named(call(answer), (*SHARES, "most_needed", "because"))
    given = [_number(received[name]) for name in SHARES]
    refuse(TOGETHER, dict(given=given))
    slip, meant = _meant(given)
    for name, share, right in zip(SHARES, given, meant, strict=True):
        with parts(name):
            real(received[name])
            if slip and share != right:
                raise Wrong(slip.slug, slip.sentence)
            _plausible(name, right, meant)
    with parts("most_needed"):
        # Where two numbers are exchanged, those that were given may be what was concluded from.
        _follows(received["most_needed"], given if slip and slip.slug == "parts-exchanged" else meant)
    with parts("because"):
        same_answer(received["because"], "b", by_value(BECAUSE))


def _number(received) -> float:
    try:
        return real(received)
    except Wrong:
        return math.nan


def _meant(given: list[float]) -> tuple[Mistake | None, list[float]]:
    # Of numbers that cannot be: the one slip that may have been made with all of them, and what they are without it.
    for slip in wrong_functions(WAYS):
        if _possible(meant := slip.function(*given)) and not _possible(given):
            return slip, meant
    return None, given


def _possible(shares: list[float]) -> bool:
    try:
        for name, share in zip(SHARES, shares, strict=True):
            _plausible(name, share, shares)
    except Wrong:
        return False
    return True


def _plausible(name: str, share: float, shares: list[float]) -> None:
    refuse(ANY, dict(share=share))
    refuse(IMPLAUSIBLE[name], dict(name=name, share=share, shares=shares))


def _follows(said, shares: list[float]) -> None:
    without = dict(zip(PARTS, shares[1:], strict=True))
    if any(map(math.isnan, without.values())):
        raise Wrong("nothing-to-conclude-from", "One of the numbers that the conclusion rests on is missing.")
    least = min(without, key=without.get)
    slip = ("conclusion-against-numbers", "By your own numbers, removing another part costs more.")
    same_answer(said, least, dict.fromkeys({*PARTS} - {least}, slip))


TOGETHER = [
    Slip(
        "nothing-changed",
        "All four numbers are the same, as if one model had been measured four times.",
        lambda given: max(given) == min(given),
    ),
    Slip(
        "losses-for-shares",
        "These look like losses: a share lies between 0 and 1.",
        lambda given: given[0] < min(given[1:]) and 1 < max(given[1:]) <= 10,
    ),
    Slip(
        "parts-not-trained",
        "With any part removed, these models only guess, like models that were not trained.",
        lambda given: max(given[1:]) <= 0.04 < given[0],
    ),
]

WAYS = [
    Slip(
        "percent",
        "This is a percentage; a share lies between 0 and 1.",
        lambda whole, positions, attention, mlp: [whole / 100, positions / 100, attention / 100, mlp / 100],
    ),
    Slip(
        "count-for-share",
        "This is a number of clocks; a share lies between 0 and 1.",
        lambda whole, positions, attention, mlp: [whole / 1000, positions / 1000, attention / 1000, mlp / 1000],
    ),
    Slip(
        "errors-for-shares",
        "This looks like the share of clocks that are read incorrectly.",
        lambda whole, positions, attention, mlp: [1 - whole, 1 - positions, 1 - attention, 1 - mlp],
    ),
    Slip(
        "loss-for-share",
        (
            "This looks like what is lost without the part; the exercise asks for the share that is still "
            "read correctly."
        ),
        lambda whole, positions, attention, mlp: [whole, whole - positions, whole - attention, whole - mlp],
    ),
    Slip(
        "parts-exchanged",
        "The numbers would look right if those of some parts were swapped.",
        lambda whole, positions, attention, mlp: [whole, attention, positions, mlp],
        lambda whole, positions, attention, mlp: [whole, mlp, attention, positions],
        lambda whole, positions, attention, mlp: [whole, positions, mlp, attention],
        lambda whole, positions, attention, mlp: [whole, attention, mlp, positions],
        lambda whole, positions, attention, mlp: [whole, mlp, positions, attention],
    ),
]

# What a thousand steps give: seeds and processors move the shares by some hundredths.
ANY = [
    Slip("percent", "This is a percentage; a share lies between 0 and 1.", lambda share: 10 < share <= 100),
    Slip("wrong-answer", "{share:g} is not a share: a share lies between 0 and 1.", lambda share: not 0 <= share <= 1),
]

# From 0.92 to 0.94, from 0.70 to 0.79 without positions, from 0.86 to 0.89 without the MLP, in res/experiments.
OTHERWISE = "We trained this model with five seeds, and none of them gave nearly such a share."

IMPLAUSIBLE = {
    "whole": [
        Slip(
            "not-trained",
            "The whole model reads fewer clocks correctly than a model does after 1000 steps.",
            lambda share: share < 0.88,
        ),
        Slip(
            "too-good",
            "No model of this size reads so many clocks correctly after 1000 steps.",
            lambda share: share > 0.97,
        ),
    ],
    "without_positions": [
        Slip(
            "more-than-positions-missing",
            "A model without positions still reads many more clocks correctly than by guessing.",
            lambda share: share < 0.08,
        ),
        Slip(
            "positions-still-there",
            "This is too good for a model without positions: the positions may have been trained.",
            lambda share: share > 0.85,
        ),
        Slip("not-repeated", OTHERWISE, lambda share: share < 0.65),
    ],
    "without_attention": [
        # A blind guess is right once in 144.
        Slip(
            "attention-still-there",
            "This is too good for a model without attention: look at every block.",
            lambda share: share > 0.04,
        ),
    ],
    "without_mlp": [
        Slip(
            "more-than-mlp-missing",
            "A model without the MLP reads many more clocks correctly: something else is missing too.",
            lambda share: share < 0.3,
        ),
        Slip(
            "too-good",
            "No model of this size reads so many clocks correctly after 1000 steps.",
            lambda share: share > 0.97,
        ),
        Slip(
            "mlp-still-there",
            "This is no worse than the whole model: look at every block.",
            lambda share, shares: share >= shares[0],
        ),
        Slip("not-repeated", OTHERWISE, lambda share: not 0.82 <= share <= 0.93),
    ],
}

BECAUSE = [
    Slip(
        "size-taken-for-cause",
        "The model without the MLP has lost about as many parameters, but it still reads clocks.",
        "a",
    ),
    Slip(
        "more-steps-hoped-for",
        "More steps would change nothing: ask what the class token can know about the picture.",
        "c",
    ),
]
