"""Exercise class_token.rates: class token against mean at two learning rates."""

import functools

from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import by_means, changed, follows, reported, rerun

RATES, KINDS = {"low": 1e-3, "high": 2e-2}, {"class": "class token", "mean": "mean"}
WORDS = ("worse", "no clear difference", "better")


def rates(answer, draw, parts):
    """`answer()` -> {"seeds", "class_low", "mean_low", "class_high", "mean_high", "mean_low_is", "mean_high_is"}."""
    names = [f"{kind}_{rate}" for rate in RATES for kind in KINDS]
    received, runs, found = reported(answer, names, "mean_low_is", "mean_high_is", what="accuracy")
    changed(found)
    # Other instruction sets changed the accuracy by 0.001 at the low rate and by up to 0.04 at the high one.
    near = {"low": 0.05, "high": 0.12}
    rerun(found, {"seed": runs}, _accuracy, draw, lambda setting: near[setting.split("_")[1]])
    for rate in RATES:
        said = f"mean_{rate}_is"
        with parts(said):
            settings = {f"{kind}_{rate}": found[f"{kind}_{rate}"] for kind in KINDS}
            follows(received[said], said, WORDS, by_means(settings))


@functools.cache
def _accuracy(setting: str, seed: int) -> float:
    kind, rate = setting.split("_")
    (train,) = of_chapter("02_class_token", "train")
    return train(KINDS[kind], seed, RATES[rate])[1]
