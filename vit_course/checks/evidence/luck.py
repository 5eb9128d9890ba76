"""Exercise evidence.luck: how much of a chosen head's score is the choice."""

import functools
from statistics import mean

import torch

from vit_course import data, pretrained
from vit_course.checks.report import Wrong
from vit_course.checks.tools.experiments import choice, last_digit, reported, rerun
from vit_course.checks.tools.mistakes import Mistake
from vit_course.maps import controls, interpret, record_attention

CHANCE = 0.15  # the mean area of the shapes
SETTINGS = ("chosen", "held_out")
FEW, NEW = slice(5), slice(200, 400)  # the images on which a head is chosen, and those on which it is scored again


def luck(answer, draw):
    """`answer()` -> {"seeds": [...], "chosen": [...], "held_out": [...], "conclusion"}, five seeds or more."""
    received, used, found = reported(answer, SETTINGS, "conclusion", fewest=5)
    rerun(found, {"seed": used}, _again, draw, lambda name: last_digit(found[name]) + 0.0003, runs=3, mistakes=AGAIN)
    said = choice(received["conclusion"], "conclusion", ("the choice", "the head"))
    above, stays = (mean(numbers) - CHANCE for numbers in found.values())
    if said != ("the head" if stays >= above / 2 else "the choice"):
        sentence = "By the limit in the exercise, the conclusion does not follow from these numbers."
        raise Wrong("does-not-follow", sentence, [f"Above chance: {above:.3f} chosen, {stays:.3f} held out"])


def _again(name: str, seed: int) -> float:
    scores = _scores(seed)
    best = scores[FEW].mean(dim=0).argmax()
    return scores[FEW if name == "chosen" else NEW, best].mean().item()


@functools.cache
def _scores(seed: int) -> torch.Tensor:
    """(400, 16): of each image and head, by the weights in an order of this seed."""
    shapes = data.shapes()
    test = shapes.test[:400]
    model = controls.random_weights(pretrained.load("shapes"), seed)
    with torch.no_grad(), record_attention(model) as recorded:
        model(shapes.normalise(test.images))
    maps = recorded.stacked()[..., 0, 1:].unflatten(-1, (8, 8))  # (400, L, h, rows, columns)
    return interpret.mask_score(maps, test.masks[:, None, None]).flatten(1)


AGAIN = [
    Mistake(  # taught
        "same-images",
        "This is the head's score on the images used for the choice.",
        lambda setting, source: _again("chosen", source),
    ),
    Mistake(  # taught
        "chosen-anew",
        "This is the best score that any head has on the new images: the head was chosen on them.",
        lambda setting, source: _scores(source)[NEW].mean(dim=0).amax().item(),
    ),
]
