"""Exercise attention.how_many_heads: an experiment, its numbers and the conclusion from them."""

from functools import cache
from statistics import mean

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import choice, losses, paired, rerun, seeds
from vit_course.checks.tools.returned import named
from vit_course.checks.tools.words import describe

SETTINGS = [(things, heads) for things in (1, 2) for heads in (1, 2, 4)]
CLEARLY = 0.1  # far above the spread of the seeds


def how_many_heads(answer, draw):
    """`answer()` -> {"seeds": [...], "errors": {(things, heads): an error for each seed}, "conclusion": a word}."""
    received = named(call(answer), ("seeds", "errors", "conclusion"))
    runs, errors = seeds(received["seeds"], 3), received["errors"]
    if not isinstance(errors, dict):
        raise Wrong("wrong-type", f"'errors' is {describe(errors)} where a dict is expected.")
    missing = [setting for setting in SETTINGS if setting not in errors]
    if missing:
        sentence = "Some settings are missing: 'errors' should have six pairs (things, heads) of numbers as its keys."
        raise Wrong("settings-missing", sentence, [f"Missing: {', '.join(map(str, missing))}"])
    measured = {
        setting: losses(errors[setting], f"errors of {setting}", 0, 10, "mean squared error") for setting in SETTINGS
    }
    paired({"seeds": runs} | measured)
    said = choice(received["conclusion"], "conclusion", ("more", "enough", "never"))
    means = {setting: mean(numbers) for setting, numbers in measured.items()}
    falls = [means[n, h] - means[n, 2 * h] > CLEARLY for n, h in SETTINGS if h < 4]
    if said != ("more" if all(falls) else "enough" if any(falls) else "never"):
        sentence = (
            "The conclusion does not follow from your own numbers: compare the steps to more heads one by one, for "
            "one thing and for two things."
        )
        raise Wrong("does-not-follow", sentence, [f"Mean error of {one}: {error:.2f}" for one, error in means.items()])
    rerun(measured, {"seed": runs}, _error, draw, near=0.006)


@cache
def _error(setting: tuple[int, int], seed: int) -> float:
    (error_after_training,) = of_chapter("04_attention", "error_after_training")
    return error_after_training(*setting, seed)
