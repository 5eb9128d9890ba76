"""Exercise encoder.warm_up: an experiment of the learner's, and whether the conclusion follows from its numbers."""

from functools import cache

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.experiments import by_ranges, follows, losses, made_again, of_chapter, paired, seeds

SETTINGS = {"without": 0, "with": 50}


@exercise("5.4", "Does a warm-up help?", section="Which one trains?", difficulty=2, minutes=14, seconds=120)
def warm_up(answer, draw):
    """`answer()` -> {"seeds", "without": [a loss a seed], "with", "conclusion": "helps", "hurts" or "not decided"}."""
    received = named(call(answer), ("seeds", *SETTINGS, "conclusion"))
    runs = seeds(received["seeds"], 3)
    # A run that diverges may be far above guessing.
    found = {name: losses(received[name], name, low=0, high=20) for name in SETTINGS}
    paired({"seeds": runs} | found)
    follows(received["conclusion"], "conclusion", ("helps", "not decided", "hurts"), by_ranges(found))
    made_again(__name__, found, {"seed": runs}, _loss, draw, near=0.05, only=["with"])


@cache
def _loss(setting: str, seed: int, rate: float = 15e-4, **otherwise) -> float:
    first_steps, block = of_chapter("05_encoder", "first_steps", "PostNormBlock")
    return first_steps(block, 12, rate, seed, **{"steps": 100, "warm_up": SETTINGS[setting]} | otherwise)[1]
