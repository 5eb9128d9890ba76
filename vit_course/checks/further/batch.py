"""Exercise further.batch: whether a larger rate repairs a larger batch, on several seeds."""

import functools

from vit_course import training
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import choice, made_again, ranges, reported
from vit_course.checks.tools.mistakes import Slip, refuse

SETTINGS = {"small": (64, 2e-3), "large": (256, 2e-3), "scaled": (256, 8e-3)}


def batch(answer, draw):
    """`answer()` -> {"seeds", "small", "large", "scaled", "conclusion"}: accuracies of three seeds or more."""
    received, used, found = reported(answer, SETTINGS, "conclusion", what="accuracy")
    said = choice(received["conclusion"], "conclusion", ("repairs", "helps", "cannot tell"))
    # Other numbers of threads and weights that differ by a millionth gave the same; of 200 digits four may turn.
    made_again(found, {"seed": used}, _accuracy, draw, near=0.02, slips=AGAIN)
    gains = min(found["scaled"]) > max(found["large"])
    reaches = max(found["scaled"]) >= min(found["small"])
    right = "repairs" if gains and reaches else "helps" if gains else "cannot tell"
    if said != right:
        refuse(CONCLUSION, dict(said=said, gains=gains, right=right), ranges(found))


def _accuracy(setting: str, seed: int) -> float:
    return _trained(setting, seed)[-1]["validation_accuracy"]


@functools.cache
def _trained(setting: str, seed: int) -> list[dict]:
    new_model, digits = of_chapter("14_several_processes", "new_model", "digits")
    model, (batch_size, rate) = new_model(seed), SETTINGS[setting]
    recipe = training.TrainingConfig(epochs=6, batch_size=batch_size, learning_rate=rate, seed=seed)
    return training.train(model, digits, recipe, progress=False)


# What slips give in place of the accuracy of one run.
AGAIN = [
    Slip(
        "errors-for-accuracies",
        "This is the share of digits that the model gets wrong.",
        lambda setting, source: 1 - _accuracy(setting, source),
    ),
    Slip(
        "a-loss",
        "This is the validation loss, not the accuracy.",
        lambda setting, source: _trained(setting, source)[-1]["validation_loss"],
    ),
    Slip(
        "after-one-epoch",
        "This is the accuracy after the first of six epochs.",
        lambda setting, source: _trained(setting, source)[0]["validation_accuracy"],
    ),
    Slip(
        "another-setting",
        "This is what another of the three settings gives with this seed.",
        lambda setting, source: _accuracy([*SETTINGS][[*SETTINGS].index(setting) - 1], source),
        lambda setting, source: _accuracy([*SETTINGS][[*SETTINGS].index(setting) - 2], source),
    ),
]

CONCLUSION = [
    Slip(
        "more-than-the-numbers-say",
        "Not every scaled run is better than every large one, so there is no clear gain.",
        lambda gains: not gains,
    ),
    Slip("too-careful", "Every scaled run is better than every large one.", lambda said: said == "cannot tell"),
    Slip("gap-overlooked", "Every scaled run is still worse than every small one.", lambda right: right == "helps"),
    Slip(
        "overlap-with-small-overlooked",
        "At least one scaled run does as well as one with the small batch.",
        lambda right: right == "repairs",
    ),
]
