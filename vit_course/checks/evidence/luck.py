"""Exercise evidence.luck: how much of a chosen head's score is the choice."""

import functools
from statistics import mean

import torch

from vit_course import data, pretrained
from vit_course.checks.report import Wrong
from vit_course.checks.tools.experiments import choice, last_digit, made_again, reported
from vit_course.checks.tools.mistakes import Slip
from vit_course.maps import controls, interpret, record_attention

CHANCE = 0.15  # the mean area of the shapes
SETTINGS = ("chosen", "held_out")


def luck(answer, draw):
    """`answer()` -> {"seeds": [...], "chosen": [...], "held_out": [...], "conclusion"}, five seeds or more."""
    received, used, found = reported(answer, SETTINGS, "conclusion", fewest=5)
    made_again(found, {"seed": used}, _again, draw, lambda name: last_digit(found[name]) + 0.0003, runs=3, slips=AGAIN)
    said = choice(received["conclusion"], "conclusion", ("the choice", "the head"))
    above, stays = (mean(numbers) - CHANCE for numbers in found.values())
    if said != ("the head" if stays >= above / 2 else "the choice"):
        sentence = "By the limit in the exercise, the conclusion does not follow from these numbers."
        raise Wrong("does-not-follow", sentence, [f"Above chance: {above:.3f} chosen, {stays:.3f} held out"])


def _again(name: str, seed: int) -> float:
    return _measured(_scores(seed))[name]


@functools.cache
def _tables(seed: int | None) -> tuple[torch.Tensor, torch.Tensor]:
    """The class token's rows and columns of attention, (400, 4, 4, T) each: by the weights in an order of this seed.

    Args:
        seed: None for the trained model.
    """
    shapes, model = data.shapes(), pretrained.load("shapes")
    model = model if seed is None else controls.random_weights(model, seed)
    with torch.no_grad(), record_attention(model) as recorded:
        model(shapes.normalise(shapes.test.images[:400]))
    tables = recorded.stacked()  # (400, L, h, T, T)
    return tables[..., 0, :].clone(), tables[..., :, 0].clone()


@functools.cache
def _scores(seed: int | None, column=False, first=1, divided=True) -> torch.Tensor:
    # (400, 16): of each image and head, by 64 tokens from the first on.
    maps = _tables(seed)[column][..., first : first + 64].unflatten(-1, (8, 8))
    scores = interpret.mask_score(maps, data.shapes().test.masks[:400, None, None])
    return (scores if divided else scores * maps.sum(dim=(-2, -1))).flatten(1)


def _measured(scores, few=slice(5), new=slice(200, None)) -> dict[str, float]:
    # Of the head that is best on a few images: its score there and on new ones.
    best = scores[few].mean(dim=0).argmax()
    return {"chosen": scores[few, best].mean().item(), "held_out": scores[new, best].mean().item()}


# What slips give in place of one of the two numbers of a seed.
AGAIN = [
    Slip(
        "same-images",
        "This is the head's score on the images used for the choice.",
        lambda source: _again("chosen", source),
    ),
    Slip(
        "on-the-new-images",
        "This is the head's score on the new images; the exercise asks for its score on the first five.",
        lambda source: _again("held_out", source),
    ),
    Slip(
        "other-images",
        "The head that is best on five images was scored on images other than those from 200 to 400.",
        lambda source, setting: _measured(_scores(source), new=slice(400))[setting],
        lambda source, setting: _measured(_scores(source), new=slice(5, 400))[setting],
        lambda source, setting: _measured(_scores(source), new=slice(200))[setting],
        lambda source, setting: _measured(_scores(source), new=slice(5, 200))[setting],
    ),
    Slip(
        "chosen-anew",
        "This is the best score that any head has on the new images: the head was chosen on them.",
        lambda source: _measured(_scores(source), slice(200, None))["chosen"],
    ),
    Slip(
        "chosen-on-many",
        "The head was chosen on many images, which leaves little room for luck.",
        lambda source, setting: _measured(_scores(source), slice(400))[setting],
        lambda source, setting: _measured(_scores(source), slice(200))[setting],
        lambda source, setting: _measured(_scores(source), slice(200), slice(5, 200))[setting],
    ),
    Slip(
        "all-heads-averaged",
        "All 16 heads are averaged; the exercise asks for the score of the chosen head.",
        lambda source: _scores(source)[200:].mean().item(),
        lambda source: _scores(source)[:5].mean().item(),
    ),
    Slip(
        "a-head-for-each-image",
        "Each of the five images has its own best head; one head should be chosen for all.",
        lambda source: _scores(source)[:5].amax(dim=1).mean().item(),
    ),
    Slip(
        "worst-head",
        "The head with the lowest score was chosen.",
        lambda source, setting: -_measured(-_scores(source))[setting],
    ),
    Slip(
        "trained-model",
        "This is what the trained model gives; its weights should be in a random order.",
        lambda setting: _measured(_scores(None))[setting],
    ),
    Slip(
        "not-divided",
        "This is the weight on the object, not divided by the weight on all patches.",
        lambda source, setting: _measured(_scores(source, divided=False))[setting],
    ),
    Slip(
        "column-of-the-class-token",
        "The maps are the class token's column: what patches take from it.",
        lambda source, setting: _measured(_scores(source, column=True))[setting],
    ),
    Slip(
        "one-place-too-far",
        "The maps hold the class token's weight for itself, and all others are shifted by one place.",
        lambda source, setting: _measured(_scores(source, first=0))[setting],
    ),
    Slip(
        "last-layer-only",
        "Only the heads of the last layer were scored; the exercise asks for all 16.",
        lambda source, setting: _measured(_scores(source)[:, -4:])[setting],
    ),
    Slip(
        "chance-taken-away",
        "Chance has already been subtracted from the score.",
        lambda setting, source: _again(setting, source) - CHANCE,
    ),
]
