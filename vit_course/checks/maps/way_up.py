"""Exercise maps.way_up: whether a head that attends to the patch above goes by place or by content."""

import functools
from statistics import mean

import torch
import torch.nn.functional as F

from vit_course import data, pretrained
from vit_course.checks.report import Wrong
from vit_course.checks.tools.experiments import choice, made_again, reported
from vit_course.checks.tools.mistakes import Slip
from vit_course.maps import controls, record_attention

SETTINGS = ("plain", "shuffled", "flat")
OPTIONS = ("place", "content helps", "torn content disturbs")
FEWEST = 10  # photographs: with three of them the means may say anything


def way_up(answer, draw):
    """`answer()` -> {"photographs", "plain": [...], "shuffled": [...], "flat": [...], "conclusion"}, ten or more."""
    options = data.photographs()
    received, names, found = reported(answer, SETTINGS, "conclusion", photographs=options, fewest=FEWEST)
    said = choice(received["conclusion"], "conclusion", OPTIONS)
    left = {name: mean(found[name]) / mean(found["plain"]) for name in SETTINGS[1:]}
    kept = [name for name in left if left[name] >= 0.9]
    if said != OPTIONS[0 if len(kept) == 2 else 2 if kept == ["flat"] else 1]:
        sentence = "By the rule in the exercise, the conclusion does not follow from these numbers."
        details = [f"Left of the plain weight, {name}: {share:.2f}" for name, share in left.items()]
        raise Wrong("does-not-follow", sentence, details)
    made_again(found, {"photograph": names}, above, draw, near=0.006, slips=AGAIN)


@functools.cache
def recorded(setting: str, photograph: str) -> torch.Tensor:
    """The attention weights (h, T, T) of layer 3."""
    model, preprocess, _ = pretrained.load_run("vit-s14")
    image = preprocess(data.photographs()[photograph].path)  # (B, C, H, W)
    if setting == "flat":
        image = image.mean(dim=(2, 3), keepdim=True).expand_as(image)
    if setting == "grey":
        image = image.mean().expand_as(image)
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


AGAIN = [
    Slip(
        "unchanged",
        "This is what the photograph gives as it is.",
        lambda source: above("plain", source),
    ),
    Slip(
        "exchanged",
        "This is what the photograph gives with its patches shuffled.",
        lambda source: above("shuffled", source),
    ),
    Slip(
        "exchanged-for-flat",
        "This is what one colour everywhere gives.",
        lambda source: above("flat", source),
    ),
    Slip(
        "grey",
        "This is what a grey picture gives: one mean was taken of all three colours.",
        lambda source: above("grey", source),
    ),
    Slip(
        "first-row-counted",
        "This is divided by all 256 queries, but those of the first row have no patch above.",
        lambda setting, source: above(setting, source) * 240 / 256,
    ),
    Slip(
        "largest-counted",
        (
            "This is the share of queries whose largest weight goes to the patch above; the exercise asks for the "
            "weight itself."
        ),
        lambda setting, source: (
            (recorded(setting, source)[4, 1:, 1:].argmax(dim=1)[16:] == torch.arange(240)).float().mean().item()
        ),
    ),
    Slip(
        "heads-averaged",
        "This is the mean over all heads.",
        lambda setting, source: above(setting, source, slice(None)),
    ),
    Slip(
        "not-the-patch-above",
        "This is the weight of the wrong patch: the asking one itself, or one next to or below it.",
        lambda setting, source: above(setting, source, offset=0),
        lambda setting, source: above(setting, source, offset=16),
        lambda setting, source: above(setting, source, offset=-1),
        lambda setting, source: above(setting, source, offset=1),
    ),
    Slip(
        "rescaled",
        "The rows were rescaled to 1 without the class token; the exercise asks for the weights as recorded.",
        lambda setting, source: (
            F.normalize(recorded(setting, source)[4, 1:, 1:], p=1, dim=-1).diagonal(-16).mean().item()
        ),
    ),
]
