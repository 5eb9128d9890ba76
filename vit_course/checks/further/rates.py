"""Exercise further.rates: whether QK-norm widens the range of learning rates, on several seeds."""

import functools

from vit_course import training
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import choice, made_again, ranges, reported
from vit_course.checks.tools.mistakes import Slip, refuse

KINDS = "plain", "normed"
RATES = {"low": 2e-3, "middle": 8e-3, "high": 3e-2}
SETTINGS = [f"{kind}_{name}" for kind in KINDS for name in RATES]


def rates(answer, draw):
    """`answer()` -> {"seeds", "plain_low", ..., "normed_high", "conclusion"}: accuracies of three seeds or more."""
    received, used, found = reported(answer, SETTINGS, "conclusion", what="accuracy")
    said = choice(received["conclusion"], "conclusion", ("widens", "helps elsewhere", "cannot tell"))
    # The conclusion rests on the high rate. Weights that differ by a millionth gave the same at the low one, up to 0.03
    # more or less at the middle one, and up to 0.09 at the high one.
    first, second = draw.choose([KINDS, KINDS[::-1]])
    again = [f"{first}_low", f"{second}_middle", "plain_high", "normed_high"]
    made_again(found, {"seed": used}, _accuracy, draw, _near, [[setting] for setting in again], slips=AGAIN)
    better = [name for name in RATES if min(found[f"normed_{name}"]) > max(found[f"plain_{name}"])]
    right = "widens" if "high" in better else "helps elsewhere" if better else "cannot tell"
    if said != right:
        refuse(CONCLUSION, dict(said=said, better=better, right=right), ranges(found))


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


def _near(setting: str) -> float:
    """How much another processor may change the accuracy."""
    return {"low": 0.02, "middle": 0.1, "high": 0.2}[setting.split("_")[1]]


def _other(setting: str) -> str:
    """The same rate, with the norm in place of without."""
    kind, name = setting.split("_")
    return f"{'plain' if kind == 'normed' else 'normed'}_{name}"


def _faster(setting: str) -> str:
    """The same model at the next higher rate, or after the highest at the lowest."""
    kind, name = setting.split("_")
    return f"{kind}_{ {'low': 'middle', 'middle': 'high', 'high': 'low'}[name] }"


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
        "on-training-images",
        "This is the accuracy on the training images.",
        lambda setting, source: _trained(setting, source)[-1]["train_accuracy"],
    ),
    Slip(
        "after-one-epoch",
        "This is the accuracy after the first of six epochs.",
        lambda setting, source: _trained(setting, source)[0]["validation_accuracy"],
    ),
    Slip(
        "norm-or-not",
        "This is what the other model gives with this seed at this rate: plain and normed are swapped.",
        lambda setting, source: _accuracy(_other(setting), source),
    ),
    Slip(
        "another-rate",
        "This is what one of the other rates gives with this seed.",
        lambda setting, source: _accuracy(_faster(setting), source),
    ),
    Slip(
        "larger-patches",
        "This is what the model gives with patches of 4 x 4 pixels.",
        lambda setting, source: _trained(setting, source, patch_size=4)[-1]["validation_accuracy"],
    ),
    Slip(
        "another-batch-size",
        "This is what batches of 128 give.",
        lambda setting, source: _trained(setting, source, batch_size=128)[-1]["validation_accuracy"],
    ),
]

CONCLUSION = [
    Slip(
        "more-than-the-numbers-say",
        "At no rate is every run with the norm better than every run without.",
        lambda better: not better,
    ),
    Slip(
        "high-rate-overlooked",
        "At the high rate every run with the norm is better than every run without.",
        lambda right: right == "widens",
    ),
    Slip(
        "too-careful",
        "At one of the rates every run with the norm is better than every run without.",
        lambda said: said == "cannot tell",
    ),
    Slip(
        "another-rate-than-the-high-one",
        "At the high rate some run with the norm is no better than one without.",
        lambda right: right == "helps elsewhere",
    ),
]
