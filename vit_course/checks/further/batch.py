"""Exercise further.batch: whether a larger rate repairs a larger batch, on several seeds."""

import functools

from vit_course import training
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import choice, made_again, ranges, reported
from vit_course.checks.tools.table import refuse

SETTINGS = {"small": (64, 2e-3), "large": (256, 2e-3), "scaled": (256, 8e-3)}


def batch(answer, draw):
    """`answer()` -> {"seeds", "small", "large", "scaled", "conclusion"}: accuracies of three seeds or more."""
    received, used, found = reported(answer, SETTINGS, "conclusion", what="accuracy")
    said = choice(received["conclusion"], "conclusion", ("repairs", "helps", "cannot tell"))
    # Other numbers of threads and weights that differ by a millionth gave the same; of 200 digits four may turn.
    made_again(__name__, found, {"seed": used}, _accuracy, draw, near=0.02, runs=2)
    gains = min(found["scaled"]) > max(found["large"])
    reaches = max(found["scaled"]) >= min(found["small"])
    right = "repairs" if gains and reaches else "helps" if gains else "cannot tell"
    if said != right:
        refuse(__name__, "conclusion", locals(), ranges(found))


def _accuracy(setting: str, seed: int) -> float:
    return _trained(setting, seed)[-1]["validation_accuracy"]


@functools.cache
def _trained(setting: str, seed: int) -> list[dict]:
    new_model, digits = of_chapter("14_several_processes", "new_model", "digits")
    model, (batch_size, rate) = new_model(seed), SETTINGS[setting]
    recipe = training.TrainingConfig(epochs=6, batch_size=batch_size, learning_rate=rate, seed=seed)
    return training.train(model, digits, recipe, progress=False)
