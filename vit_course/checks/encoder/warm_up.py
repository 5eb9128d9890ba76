"""Exercise encoder.warm_up: an experiment of the learner's, and whether the conclusion follows from its numbers."""

from functools import cache

from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import by_ranges, follows, losses, reported, rerun

SETTINGS = {"without": 0, "with": 50}
# On another processor a run without a warm-up ends up to 0.5 higher or lower.
NEAR = {"without": 1.0, "with": 0.05}


def warm_up(answer, draw):
    """`answer()` -> {"seeds", "without": [a loss a seed], "with", "conclusion": "helps", "hurts" or "not decided"}."""
    # A run that diverges may be far above guessing.
    received, runs, measured = reported(answer, SETTINGS, "conclusion", read=losses, low=0, high=20)
    follows(received["conclusion"], "conclusion", ("helps", "not decided", "hurts"), by_ranges(measured))
    rerun(measured, {"seed": runs}, _loss, draw, near=lambda setting: NEAR[setting])


@cache
def _loss(setting: str, seed: int) -> float:
    first_steps, block = of_chapter("05_encoder", "first_steps", "PostNormBlock")
    return first_steps(block, 12, 15e-4, seed, steps=100, warm_up=SETTINGS[setting])[1]
