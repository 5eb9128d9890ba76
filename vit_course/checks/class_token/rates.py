"""Exercise class_token.rates: class token against mean at two learning rates."""

import functools

from vit_course.checks.tools import experiments
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.mistakes import Slip

RATES, KINDS = {"low": 1e-3, "high": 2e-2}, {"class": "class token", "mean": "mean"}
WORDS = ("worse", "no clear difference", "better")


def rates(answer, draw, parts):
    """`answer()` -> {"seeds", "class_low", "mean_low", "class_high", "mean_high", "mean_low_is", "mean_high_is"}."""
    names = [f"{kind}_{rate}" for rate in RATES for kind in KINDS]
    received, runs, found = experiments.reported(answer, names, "mean_low_is", "mean_high_is", what="accuracy")
    experiments.changed(found)
    # Other instruction sets changed the accuracy by 0.001 at the low rate and by up to 0.04 at the high one.
    near = {"low": 0.05, "high": 0.12}
    experiments.made_again(
        found, {"seed": runs}, _accuracy, draw, lambda setting: near[setting.split("_")[1]], slips=AGAIN,
        slips_near=near["high"],  # the other rate may be the high one
    )  # fmt: skip
    for rate in RATES:
        said = f"mean_{rate}_is"
        with parts(said):
            settings = {f"{kind}_{rate}": found[f"{kind}_{rate}"] for kind in KINDS}
            experiments.follows(received[said], said, WORDS, experiments.by_means(settings))


@functools.cache
def _accuracy(setting: str, seed: int) -> float:
    kind, rate = setting.split("_")
    (train,) = of_chapter("02_class_token", "train")
    return train(KINDS[kind], seed, RATES[rate])[1]


# What other things that were measured are in place of the accuracy of a run.
AGAIN = [
    Slip(
        "errors-for-accuracies",
        "This is the share of test images that the model gets wrong.",
        lambda setting, source: 1 - _accuracy(setting, source),
    ),
    Slip(
        "rates-exchanged",
        "This is what the other learning rate gives with this seed.",
        lambda setting, source: _accuracy(
            setting.replace("low", "high") if "low" in setting else setting.replace("high", "low"), source
        ),
    ),
]
