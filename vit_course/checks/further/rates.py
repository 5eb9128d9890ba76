"""Exercise further.rates: whether QK-norm widens the range of learning rates, on several seeds."""

import functools

from vit_course import training
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import choice, made_again, ranges, reported
from vit_course.checks.tools.table import refuse

RATES = {"low": 2e-3, "middle": 8e-3, "high": 3e-2}
SETTINGS = [f"{kind}_{name}" for kind in ("plain", "normed") for name in RATES]


def rates(answer, draw):
    """`answer()` -> {"seeds", "plain_low", ..., "normed_high", "conclusion"}: accuracies of three seeds or more."""
    received, used, found = reported(answer, SETTINGS, "conclusion", what="accuracy")
    said = choice(received["conclusion"], "conclusion", ("widens", "helps elsewhere", "cannot tell"))
    # Weights that differ by a millionth gave the same at the low rate, and up to 0.09 more or less at the high one.
    low = [name for name in SETTINGS if name.endswith("low")]
    made_again(__name__, found, {"seed": used}, _accuracy, draw, near=0.02, runs=2, only=low)
    better = [name for name in RATES if min(found[f"normed_{name}"]) > max(found[f"plain_{name}"])]
    right = "widens" if "high" in better else "helps elsewhere" if better else "cannot tell"
    if said != right:
        refuse(__name__, "conclusion", locals(), ranges(found))


def _accuracy(setting: str, seed: int) -> float:
    return _trained(setting, seed)[-1]["validation_accuracy"]


@functools.cache
def _trained(setting: str, seed: int, patch_size: int = 2, batch_size: int = 64) -> list[dict]:
    new_model, with_qk_norm, digits = of_chapter("12_further", "new_model", "with_qk_norm", "digits")
    kind, name = setting.split("_")
    model = new_model(seed, patch_size=patch_size)
    model = with_qk_norm(model) if kind == "normed" else model
    recipe = training.TrainingConfig(epochs=6, batch_size=batch_size, learning_rate=RATES[name], seed=seed)
    return training.train(model, digits, recipe, progress=False)


def _other(setting: str) -> str:
    """The same rate, with the norm in place of without."""
    kind, name = setting.split("_")
    return f"{'plain' if kind == 'normed' else 'normed'}_{name}"
