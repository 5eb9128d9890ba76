"""Exercise vit.large_head: an experiment of the learner's with the scale of the head."""

import functools
import math

import torch
from torch import nn

from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import by_ranges, changed, follows, losses, made_again, reported
from vit_course.checks.tools.mistakes import Slip

SETTINGS = ("small", "large")


def large_head(answer, draw):
    """`answer()` -> {"seeds": [...], "small": [a loss a seed], "large": [...], "conclusion": a word or two}."""
    received, seeds, found = reported(answer, SETTINGS, "conclusion", read=losses, low=0, high=math.inf)
    changed(found)
    follows(received["conclusion"], "conclusion", ("faster", "not decided", "slower"), by_ranges(found))
    # From step to step the last losses differ by 0.01 to 0.1, on another processor by less than 0.001.
    made_again(found, {"seed": seeds}, lambda *run: learned(*run)[-1], draw, near=0.01, runs=2, slips=AGAIN)


@functools.cache
def learned(setting: str, seed: int, steps: int = 25, before: str = "") -> list[float]:
    """The loss at every step, with the head of this setting; of a model made and trained after one `before`."""
    learn_by_heart, initialise, kind, config, labels = of_chapter(
        "06_vit", "learn_by_heart", "initialise", "MyViT", "digit_config", "ten_labels"
    )
    torch.manual_seed(seed)
    for head in filter(None, (before, setting)):
        model = initialise(kind(config))
        if head == "large":
            nn.init.normal_(model.head.weight, std=1)
        losses, _ = learn_by_heart(model, labels, steps)
    return losses


def _other(setting: str) -> str:
    """The other of the two settings."""
    return SETTINGS[setting == "small"]


AGAIN = [
    Slip(
        "first-losses",
        "This is the loss of the first step; the exercise asks for the last one of each run.",
        lambda setting, source: learned(setting, source)[0],
    ),
    Slip(
        "exchanged",
        "This is what the other head gives with this seed.",
        lambda setting, source: learned(_other(setting), source)[-1],
    ),
    Slip(
        "not-after-25-steps",
        "This is the loss after a different number of steps.",
        lambda setting, source: learned(setting, source, 100)[99],
        lambda setting, source: learned(setting, source, 100)[49],
        lambda setting, source: learned(setting, source, 100)[25],
        lambda setting, source: learned(setting, source)[23],
    ),
    Slip(
        "seed-set-once",
        "This is the loss of a model made after one with the other head, with the seed set only once.",
        lambda setting, source: learned(setting, source, before=_other(setting))[-1],
    ),
]
