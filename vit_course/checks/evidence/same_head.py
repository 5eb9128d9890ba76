"""Exercise evidence.same_head: whether the head that matters most on one photograph does so on others."""

import functools

import torch

from vit_course import data, pretrained
from vit_course.checks.tools.experiments import choice, made_again, reported, wholes
from vit_course.checks.tools.table import refuse
from vit_course.maps import effects

SETTINGS = ("mean", "zero")
WORDS = ("neither", "the photograph", "the replacement", "both")


def same_head(answer, draw):
    """`answer()` -> {"photographs", "mean": [a head for each], "zero": [...], "conclusion"}, three or more."""
    heads = dict(read=wholes, high=71, what="number of a head")
    received, names, found = reported(answer, SETTINGS, "conclusion", photographs=data.photographs(), **heads)
    said = choice(received["conclusion"], "conclusion", WORDS)
    photograph = any(len(set(each)) > 1 for each in found.values())
    replacement = found["mean"] != found["zero"]
    if said != WORDS[photograph + 2 * replacement]:
        refuse(__name__, "conclusion", locals())
    made_again(__name__, found, {"photograph": names}, _first, draw, near=0, runs=2)


def _first(setting: str, photograph: str) -> int:
    return _effects(setting, photograph).argmax().item()


@functools.cache
def _effects(setting: str, photograph: str) -> torch.Tensor:
    """(12, 6), of the heads of each layer."""
    run = pretrained.load_run("vit-s14")
    image = run.preprocess(data.photographs()[photograph].path)  # (1, C, H, W)
    return effects(run.model, image, "heads", of="class token", by=setting, progress=False).values
