"""Exercise vit.large_head: an experiment of the learner's with the scale of the head."""

import functools
import math

import torch
from torch import nn

from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import by_ranges, changed, follows, losses, reported, rerun
from vit_course.checks.tools.mistakes import Mistake


def large_head(answer, draw):
    """`answer()` -> {"seeds": [...], "small": [a loss a seed], "large": [...], "conclusion": a word or two}."""
    received, seeds, found = reported(answer, ("small", "large"), "conclusion", read=losses, low=0, high=math.inf)
    changed(found)
    follows(received["conclusion"], "conclusion", ("faster", "not decided", "slower"), by_ranges(found))
    # From step to step the last losses differ by 0.01 to 0.1, on another processor by less than 0.001.
    rerun(found, {"seed": seeds}, learned, draw, near=0.01, runs=2, mistakes=AGAIN)


@functools.cache
def learned(setting: str, seed: int, before: str = "") -> float:
    """The loss after 25 steps with the head of this setting, of a model made and trained after one `before`."""
    learn_by_heart, initialise, kind, config, labels = of_chapter(
        "06_vit", "learn_by_heart", "initialise", "MyViT", "digit_config", "ten_labels"
    )
    torch.manual_seed(seed)
    for head in filter(None, (before, setting)):
        model = initialise(kind(config))
        if head == "large":
            nn.init.normal_(model.head.weight, std=1)
        losses, _ = learn_by_heart(model, labels, 25)
    return losses[-1]


AGAIN = [
    Mistake(  # taught
        "seed-set-once",
        "This is the loss of a model made after one with the other head, with the seed set only once.",
        lambda setting, seed: learned(setting, seed, before="large" if setting == "small" else "small"),
    ),
]
