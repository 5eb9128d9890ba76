"""Exercise evidence.same_head: whether the head that matters most on one photograph does so on others."""

import functools

import torch

from vit_course import data, pretrained
from vit_course.checks.tools.experiments import choice, made_again, reported, wholes
from vit_course.checks.tools.mistakes import Slip, refuse
from vit_course.maps import effects

SETTINGS = ("token mean", "zero")
ON_THE_CAT = {"token mean": 22, "zero": 68}
WORDS = ("neither", "the photograph", "the replacement", "both")


def same_head(answer, draw):
    """`answer()` -> {"photographs", "token mean": [a head for each], "zero": [...], "conclusion"}, three or more."""
    heads = dict(read=wholes, high=71, what="number of a head")
    received, names, found = reported(answer, SETTINGS, "conclusion", photographs=data.photographs(), **heads)
    said = choice(received["conclusion"], "conclusion", WORDS)
    photograph = any(len(set(each)) > 1 for each in found.values())
    replacement = found["token mean"] != found["zero"]
    if said != WORDS[photograph + 2 * replacement]:
        refuse(CONCLUSION, dict(said=said, photograph=photograph, replacement=replacement))
    made_again(found, {"photograph": names}, _first, draw, near=0, slips=AGAIN)


def _first(setting: str, photograph: str) -> int:
    return _effects(setting, photograph).argmax().item()


@functools.cache
def _effects(setting: str, photograph: str) -> torch.Tensor:
    """(12, 6), of the heads of each layer."""
    run = pretrained.load_run("vit-s14")
    image = run.preprocess(data.photographs()[photograph].path)  # (1, C, H, W)
    return effects(run.model, image, "heads", of="class token", by=setting, progress=False).values


# What slips give in place of the number of the head that comes first.
AGAIN = [
    Slip(
        "exchanged",
        "This is the head that comes first with the other of the two replacements.",
        lambda setting, source: _first("zero" if setting == "token mean" else "token mean", source),
    ),
    Slip(
        "smallest-effect",
        "This is the head with the smallest effect.",
        lambda setting, source: _effects(setting, source).argmin().item(),
    ),
    Slip(
        "second-head",
        "This is the head with the second-largest effect.",
        lambda setting, source: _effects(setting, source).flatten().topk(2).indices[1].item(),
    ),
    Slip("counted-from-one", "The heads are counted from 1.", lambda setting, source: _first(setting, source) + 1),
    Slip(
        "place-in-its-layer",
        "This is the head's place in its layer, or its layer, and not its number among all 72.",
        lambda setting, source: _first(setting, source) % 6,
        lambda setting, source: _first(setting, source) // 6,
    ),
    Slip(
        "head-by-head",
        "The heads are numbered as 12 * head + layer.",
        lambda setting, source: _effects(setting, source).T.argmax().item(),
    ),
    Slip(
        "last-layer-only",
        "Only the heads of the last layer are compared.",
        lambda setting, source: 66 + _effects(setting, source)[11].argmax().item(),
    ),
    Slip("the-cat-again", "This is the head that comes first on the cat.", lambda setting: ON_THE_CAT[setting]),
]

CONCLUSION = [
    Slip(
        "photograph-overlooked",
        "In one of your lists, not all photographs have the same head.",
        lambda photograph, said: photograph and said in ("neither", "the replacement"),
    ),
    Slip(
        "replacement-overlooked",
        "On one of your photographs, the two lists have different heads.",
        lambda replacement, said: replacement and said in ("neither", "the photograph"),
    ),
    Slip("more-than-the-numbers-say", "The conclusion names a reason that makes no difference in your lists.", True),
]
