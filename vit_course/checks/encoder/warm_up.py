"""Exercise encoder.warm_up: an experiment of the learner's, and whether the conclusion follows from its numbers."""

from functools import cache

from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import by_ranges, follows, losses, made_again, reported
from vit_course.checks.tools.mistakes import Slip

SETTINGS = {"without": 0, "with": 50}


def warm_up(answer, draw):
    """`answer()` -> {"seeds", "without": [a loss a seed], "with", "conclusion": "helps", "hurts" or "not decided"}."""
    # A run that diverges may be far above guessing.
    received, runs, found = reported(answer, SETTINGS, "conclusion", read=losses, low=0, high=20)
    follows(received["conclusion"], "conclusion", ("helps", "not decided", "hurts"), by_ranges(found))
    # On another processor a run without a warm-up ends up to 0.5 higher or lower.
    near = {"with": 0.05, "without": 1.0}
    made_again(found, {"seed": runs}, _loss, draw, lambda setting: near[setting], slips=AGAIN)


@cache
def _loss(setting: str, seed: int, rate: float = 15e-4, **otherwise) -> float:
    first_steps, block = of_chapter("05_encoder", "first_steps", "PostNormBlock")
    return first_steps(block, 12, rate, seed, **{"steps": 100, "warm_up": SETTINGS[setting]} | otherwise)[1]


AGAIN = [
    Slip(
        "another-length",
        "Repeating a run gives a different number: yours belongs to 40 steps.",
        lambda setting, source: _loss(setting, source, steps=40),
    ),
    Slip(
        "another-rate",
        "Repeating a run gives a different number: yours belongs to the rate 0.005.",
        lambda setting, source: _loss(setting, source, 5e-3),
    ),
]
