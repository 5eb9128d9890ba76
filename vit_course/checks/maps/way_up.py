"""Exercise maps.way_up: whether a head that looks one patch up goes by place or by content."""

import functools
from statistics import mean

import torch

from vit_course import data, pretrained
from vit_course.checks.report import Wrong
from vit_course.checks.tools.experiments import choice, made_again, reported
from vit_course.maps import controls, record_attention

SETTINGS, OPTIONS = ("plain", "shuffled"), ("place", "content", "both")


def way_up(answer, draw):
    """`answer()` -> {"photographs", "plain": [...], "shuffled": [...], "conclusion"}, three photographs or more."""
    received, names, found = reported(answer, SETTINGS, "conclusion", photographs=data.photographs())
    said, left = choice(received["conclusion"], "conclusion", OPTIONS), mean(found["shuffled"]) / mean(found["plain"])
    if said != ("place" if left >= 0.9 else "content" if left < 0.1 else "both"):
        sentence = "By the two limits in the exercise, the conclusion does not follow from these numbers."
        raise Wrong("does-not-follow", sentence, [f"Left after the shuffle: {left:.2f} of the plain weight"])
    made_again(__name__, found, {"photograph": names}, above, draw, near=0.006, runs=2)


@functools.cache
def recorded(setting: str, photograph: str) -> torch.Tensor:
    """The attention weights (h, T, T) of layer 3."""
    model, preprocess, _ = pretrained.load_run("vit-s14")
    image = preprocess(data.photographs()[photograph].path)  # (B, C, H, W)
    if setting == "shuffled":
        order = torch.rand(1, 256, generator=torch.Generator().manual_seed(0)).argsort(dim=1)  # (B, N)
        image = controls.shuffle_patches(image, 14, order)
    with torch.no_grad(), record_attention(model) as maps:
        model.features(image)
    return maps.stacked()[0, 3]


def above(setting: str, photograph: str, heads=4, offset: int = -16) -> float:
    """The mean weight of the patch `offset` places on, by the head or the mean of several."""
    patches = recorded(setting, photograph)[heads, 1:, 1:]  # (N, N) or (n, N, N)
    return patches.diagonal(offset, -2, -1).mean().item()
