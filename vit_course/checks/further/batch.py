"""Exercise further.batch: whether a larger rate repairs a larger batch, on several seeds."""

import functools

from vit_course import training
from vit_course.checks.report import Wrong
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import choice, ranges, reported, rerun
from vit_course.checks.tools.mistakes import Mistake

SETTINGS = {"small": (64, 2e-3), "large": (256, 2e-3), "scaled": (256, 8e-3)}


def batch(answer, draw):
    """`answer()` -> {"seeds", "small", "large", "scaled", "conclusion"}: accuracies of three seeds or more."""
    received, used, found = reported(answer, SETTINGS, "conclusion", what="accuracy")
    said = choice(received["conclusion"], "conclusion", ("repairs", "helps", "cannot tell"))
    # Other numbers of threads and weights that differ by a millionth gave the same; of 200 digits four may turn.
    rerun(found, {"seed": used}, _accuracy, draw, near=0.02, mistakes=AGAIN)
    gains = min(found["scaled"]) > max(found["large"])
    reaches = max(found["scaled"]) >= min(found["small"])
    right = "repairs" if gains and reaches else "helps" if gains else "cannot tell"
    if said != right:
        _refuse_conclusion(said, right, ranges(found))


def _refuse_conclusion(said: str, right: str, details: list[str]) -> None:
    # taught: the rule by which the numbers decide
    if right == "cannot tell":
        sentence = "Not every scaled run is better than every large one, so there is no clear gain."
        raise Wrong("more-than-the-numbers-say", sentence, details)
    if said == "cannot tell":
        raise Wrong("too-careful", "Every scaled run is better than every large one.", details)
    if said == "repairs":
        raise Wrong("gap-overlooked", "Every scaled run is still worse than every small one.", details)
    raise Wrong(
        "overlap-with-small-overlooked", "At least one scaled run does as well as one with the small batch.", details
    )


@functools.cache
def _accuracy(setting: str, seed: int) -> float:
    new_model, digits = of_chapter("14_several_processes", "new_model", "digits")
    model, (batch_size, rate) = new_model(seed), SETTINGS[setting]
    recipe = training.TrainingConfig(epochs=6, batch_size=batch_size, learning_rate=rate, seed=seed)
    return training.train(model, digits, recipe, progress=False)[-1]["validation_accuracy"]


AGAIN = [
    Mistake(
        "another-setting",
        "This is what another of the three settings gives with this seed.",
        lambda setting, seed: _accuracy([*SETTINGS][[*SETTINGS].index(setting) - 1], seed),
        lambda setting, seed: _accuracy([*SETTINGS][[*SETTINGS].index(setting) - 2], seed),
    ),
]
