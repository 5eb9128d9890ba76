"""Exercise class_token.rates: class token against mean at two learning rates."""

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.experiments import accuracies, by_means, changed, follows

RATES, KINDS = ("low", "high"), ("class", "mean")
WORDS = ("worse", "no clear difference", "better")


@exercise(
    "2.4",
    "Which is better, at which learning rate?",
    section="Does it matter which token speaks?",
    difficulty=2,
    minutes=15,
)
def rates(answer, parts):
    """`answer()` -> {"class_low", "mean_low", "class_high", "mean_high": accuracies, "mean_low_is", "mean_high_is"}."""
    names = [f"{kind}_{rate}" for rate in RATES for kind in KINDS]
    received = named(call(answer), (*names, *(f"mean_{rate}_is" for rate in RATES)))
    found = {name: accuracies(received[name], name, lowest=0.3) for name in names}
    changed(found)
    if all(min(found[f"{kind}_low"]) > max(found[f"{kind}_high"]) for kind in KINDS):
        raise Wrong("rates-exchanged", "The numbers look right with those of the two rates exchanged.")
    for rate in RATES:
        said = f"mean_{rate}_is"
        with parts(said):
            settings = {f"{kind}_{rate}": found[f"{kind}_{rate}"] for kind in KINDS}
            follows(received[said], said, WORDS, by_means(settings))
