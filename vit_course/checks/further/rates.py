"""Exercise further.rates: whether QK-norm widens the range of learning rates, on several seeds."""

import functools

from vit_course import training
from vit_course.checks.report import Wrong
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import choice, ranges, reported, rerun
from vit_course.checks.tools.mistakes import Mistake

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
    rerun(found, {"seed": used}, _accuracy, draw, _near, [[setting] for setting in again], mistakes=AGAIN)
    better = [name for name in RATES if min(found[f"normed_{name}"]) > max(found[f"plain_{name}"])]
    right = "widens" if "high" in better else "helps elsewhere" if better else "cannot tell"
    if said != right:
        _refuse_conclusion(said, right, ranges(found))


def _refuse_conclusion(said: str, right: str, details: list[str]) -> None:
    # taught: the rule by which the numbers decide
    if right == "cannot tell":
        sentence = "At no rate is every run with the norm better than every run without."
        raise Wrong("more-than-the-numbers-say", sentence, details)
    if said == "cannot tell":
        sentence = "At one of the rates every run with the norm is better than every run without."
        raise Wrong("too-careful", sentence, details)
    if said == "helps elsewhere":
        sentence = "At the high rate every run with the norm is better than every run without."
        raise Wrong("high-rate-overlooked", sentence, details)
    sentence = "At the high rate some run with the norm is no better than one without."
    raise Wrong("another-rate-than-the-high-one", sentence, details)


@functools.cache
def _accuracy(setting: str, seed: int) -> float:
    new_model, with_qk_norm, digits = of_chapter("12_further", "new_model", "with_qk_norm", "digits")
    kind, name = setting.split("_")
    model = new_model(seed, patch_size=2)
    model = with_qk_norm(model) if kind == "normed" else model
    recipe = training.TrainingConfig(epochs=6, batch_size=64, learning_rate=RATES[name], seed=seed)
    return training.train(model, digits, recipe, progress=False)[-1]["validation_accuracy"]


def _near(setting: str) -> float:
    """How much another processor may change the accuracy."""
    return {"low": 0.02, "middle": 0.1, "high": 0.2}[setting.split("_")[1]]


def _next_rate(setting: str) -> str:
    """The same model at the next higher rate, or after the highest at the lowest."""
    kind, name = setting.split("_")
    return f"{kind}_{ {'low': 'middle', 'middle': 'high', 'high': 'low'}[name] }"


AGAIN = [
    Mistake(
        "another-rate",
        "This is what one of the other rates gives with this seed.",
        lambda setting, seed: _accuracy(_next_rate(setting), seed),
    ),
]
