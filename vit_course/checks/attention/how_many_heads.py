"""Exercise attention.how_many_heads: an experiment, its numbers and the conclusion from them."""

from functools import cache
from statistics import mean

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import choice, losses, made_again, paired, seeds
from vit_course.checks.tools.mistakes import Slip, refuse
from vit_course.checks.tools.returned import named

SETTINGS = [(things, heads) for things in (1, 2) for heads in (1, 2, 4)]
CLEARLY = 0.1  # far above the spread of the seeds


def how_many_heads(answer, draw):
    """`answer()` -> {"seeds": [...], "errors": {(things, heads): an error for each seed}, "conclusion": a word}."""
    received = named(call(answer), ("seeds", "errors", "conclusion"))
    runs, errors = seeds(received["seeds"], 3), received["errors"]
    refuse(KEYS, dict(errors=errors))
    found = {
        setting: losses(errors[setting], f"errors of {setting}", 0, 100, "mean squared error") for setting in SETTINGS
    }
    refuse(ERRORS, dict(found=found))
    paired({"seeds": runs} | found)
    said = choice(received["conclusion"], "conclusion", ("more", "enough", "never"))
    means = {setting: mean(numbers) for setting, numbers in found.items()}
    falls = [means[n, h] - means[n, 2 * h] > CLEARLY for n, h in SETTINGS if h < 4]
    if said != ("more" if all(falls) else "enough" if any(falls) else "never"):
        sentence = (
            "The conclusion does not follow from your own numbers: compare the steps to more heads one by one, for "
            "one thing and for two things."
        )
        raise Wrong("does-not-follow", sentence, [f"Mean error of {one}: {error:.2f}" for one, error in means.items()])
    made_again(found, {"seed": runs}, _error, draw, near=0.006, slips=AGAIN)


@cache
def _error(setting: tuple[int, int], seed: int) -> float:
    (error_after_training,) = of_chapter("04_attention", "error_after_training")
    return error_after_training(*setting, seed)


KEYS = [
    Slip(
        "wrong-type",
        "'errors' should be a dict with a list of numbers for each pair (things, heads).",
        lambda errors: not isinstance(errors, dict),
    ),
    Slip(
        "settings-exchanged",
        "The keys of the errors are (heads, things); they should be (things, heads).",
        lambda errors: {(1, 1), (2, 1), (4, 1), (1, 2), (2, 2), (4, 2)} <= set(errors) and (1, 4) not in errors,
    ),
    Slip(
        "wrong-keys",
        "The keys of the errors should be pairs of numbers, such as (1, 2) for one thing and two heads.",
        lambda errors: not all(isinstance(key, tuple) for key in errors),
    ),
    Slip(
        "settings-missing",
        (
            "Some settings were not run: the exercise asks for three numbers of heads for one thing and three for "
            "two things."
        ),
        lambda errors: not set(SETTINGS) <= set(errors),
    ),
]

ERRORS = [
    Slip(
        "percent",
        "Some errors are above 10, although always answering 0 gives 1: are they percentages?",
        lambda found: max(map(max, found.values())) > 10,
    ),
]

AGAIN = [
    Slip(
        "another-setting",
        "Repeating a run gives a different number: yours belongs to other numbers of things and heads.",
        lambda source: _error((1, 1), source),
        lambda source: _error((2, 1), source),
    ),
]
