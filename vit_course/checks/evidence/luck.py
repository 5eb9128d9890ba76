"""Exercise evidence.luck: how much of a chosen head's score is the choice."""

import functools
from statistics import mean

import torch

from vit_course import data, pretrained
from vit_course.checks.report import Wrong
from vit_course.checks.tools.experiments import choice, last_digit, made_again, reported
from vit_course.maps import controls, interpret, record_attention

CHANCE = 0.15  # the mean area of the shapes
SETTINGS = ("chosen", "held_out")


def luck(answer, draw):
    """`answer()` -> {"seeds": [...], "chosen": [...], "held_out": [...], "conclusion"}, five seeds or more."""
    received, used, found = reported(answer, SETTINGS, "conclusion", fewest=5)
    for name, numbers in found.items():
        made_again(__name__, found, {"seed": used}, _again, draw, last_digit(numbers) + 0.0003, 3, [name])
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
