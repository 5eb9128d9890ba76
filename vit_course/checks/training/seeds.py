"""Exercise training.seeds: an experiment with several seeds, and the conclusion that follows from it."""

import functools

from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import by_ranges, choice, follows, reported, rerun

CHANGES = {"padding": 1, "warmup": 0.0, "label_smoothing": 0.1, "clip_norm": 0.0}
SETTINGS = ("without", "with")


def seeds(answer, draw):
    """`answer()` -> {"change", "seeds", "without", "with", "conclusion"}: accuracies of at least four seeds each."""
    received, each, found = reported(answer, SETTINGS, "change", "conclusion", fewest=4, what="accuracy")
    change = choice(received["change"], "change", [*CHANGES])
    follows(received["conclusion"], "conclusion", ("hurts", "cannot tell", "helps"), by_ranges(found))

    def measured(setting: str, seed: int) -> float:
        return accuracy_of(seed, **({change: CHANGES[change]} if setting == "with" else {}))

    rerun(found, {"seed": each}, measured, draw, near=0.05)


@functools.cache
def accuracy_of(seed: int, epochs: int = 8, **change) -> float:
    """The accuracy on the validation digits, by the recipe of the exercise."""
    new_model, digits, training, config = of_chapter("07_training", "new_model", "digits", "training", "TrainingConfig")
    model = new_model(seed)
    recipe = config(**dict(epochs=epochs, batch_size=64, learning_rate=2e-3, seed=seed) | change)
    training.train(model, digits, recipe, progress=False)
    return training.evaluate(model, digits.validation, digits)[1]
