"""Exercise evidence.same_head: whether the head that matters most on one photograph does so on others."""

import functools

from vit_course import data, pretrained
from vit_course.checks.report import Wrong
from vit_course.checks.tools.experiments import choice, reported, rerun, wholes
from vit_course.checks.tools.mistakes import Mistake
from vit_course.maps import effects

SETTINGS = ("token mean", "zero")
WORDS = ("neither", "the photograph", "the replacement", "both")


def same_head(answer, draw):
    """`answer()` -> {"photographs", "token mean": [a head for each], "zero": [...], "conclusion"}, three or more."""
    heads = dict(read=wholes, high=71, what="number of a head")
    received, names, found = reported(answer, SETTINGS, "conclusion", photographs=data.photographs(), **heads)
    said = choice(received["conclusion"], "conclusion", WORDS)
    _check_conclusion(said, found)
    rerun(found, {"photograph": names}, _first, draw, near=0, mistakes=AGAIN)


def _check_conclusion(said: str, found: dict[str, list[int]]) -> None:
    photograph = any(len(set(each)) > 1 for each in found.values())
    replacement = found["token mean"] != found["zero"]
    if said == WORDS[photograph + 2 * replacement]:
        return
    if photograph and said in ("neither", "the replacement"):
        raise Wrong("photograph-overlooked", "In one of your lists, not all photographs have the same head.")
    if replacement and said in ("neither", "the photograph"):
        raise Wrong("replacement-overlooked", "On one of your photographs, the two lists have different heads.")
    sentence = "The conclusion names a reason that makes no difference in your lists."
    raise Wrong("more-than-the-numbers-say", sentence)


@functools.cache
def _first(setting: str, photograph: str) -> int:
    run = pretrained.load_run("vit-s14")
    image = run.preprocess(data.photographs()[photograph].path)  # (1, C, H, W)
    return effects(run.model, image, "heads", of="class token", by=setting, progress=False).values.argmax().item()


AGAIN = [
    Mistake(
        "exchanged",
        "This is the head that comes first with the other of the two replacements.",
        lambda setting, source: _first("zero" if setting == "token mean" else "token mean", source),
    ),
]
