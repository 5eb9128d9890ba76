"""Exercise maps.way_up: whether a head that attends to the patch above goes by place or by content."""

import functools
from statistics import mean

import torch
import torch.nn.functional as F

from vit_course import data, pretrained
from vit_course.checks.report import Wrong
from vit_course.checks.tools.experiments import choice, reported, rerun
from vit_course.checks.tools.mistakes import Mistake
from vit_course.maps import controls, record_attention

SETTINGS = ("plain", "shuffled", "flat")
OPTIONS = ("place", "content helps", "torn content disturbs")
FEWEST = 10  # photographs: with three of them the means may say anything


def way_up(answer, draw):
    """`answer()` -> {"photographs", "plain": [...], "shuffled": [...], "flat": [...], "conclusion"}, ten or more."""
    options = data.photographs()
    received, names, found = reported(answer, SETTINGS, "conclusion", photographs=options, fewest=FEWEST)
    said = choice(received["conclusion"], "conclusion", OPTIONS)
    means = {name: mean(found[name]) for name in SETTINGS}
    flat, shuffled = (means[name] >= 0.9 * means["plain"] for name in ("flat", "shuffled"))
    right = "content helps" if not flat else "place" if shuffled else "torn content disturbs"
    if said != right:
        sentence = "By the rule in the exercise, the conclusion does not follow from these numbers."
        raise Wrong("does-not-follow", sentence, [f"Mean, {name}: {number:.3f}" for name, number in means.items()])
    rerun(found, {"photograph": names}, above, draw, near=0.006, mistakes=AGAIN)


@functools.cache
def recorded(setting: str, photograph: str) -> torch.Tensor:
    """The attention weights (T, T) of head 4 in layer 3."""
    model, preprocess, _ = pretrained.load_run("vit-s14")
    image = preprocess(data.photographs()[photograph].path)  # (B, C, H, W)
    if setting == "flat":
        image = image.mean(dim=(2, 3), keepdim=True).expand_as(image)
    if setting == "shuffled":
        order = torch.rand(1, 256, generator=torch.Generator().manual_seed(0)).argsort(dim=1)  # (B, N)
        image = controls.shuffle_patches(image, 14, order)
    with torch.no_grad(), record_attention(model) as maps:
        model.features(image)
    return maps.stacked()[0, 3, 4]


def above(setting: str, photograph: str, change=lambda patches: patches) -> float:
    """The mean weight of the patch above, after a change of the weights (N, N) among the patches."""
    return change(recorded(setting, photograph)[1:, 1:]).diagonal(-16).mean().item()


AGAIN = [
    Mistake(  # taught
        "first-row-counted",
        "This is divided by all 256 queries, but those of the first row have no patch above.",
        lambda setting, source: above(setting, source) * 240 / 256,
    ),
    Mistake(  # taught
        "rescaled",
        "The rows were rescaled to 1 without the class token; the exercise asks for the weights as recorded.",
        lambda setting, source: above(setting, source, lambda patches: F.normalize(patches, p=1, dim=-1)),
    ),
]
