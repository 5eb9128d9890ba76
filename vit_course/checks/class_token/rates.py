"""Exercise class_token.rates: class token against mean at two learning rates."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.compared_runs import accuracies, conclusion_follows, entries

RATES = ("low", "high")


@exercise(
    "Which is better, at which learning rate?", section="Does it matter which token speaks?", difficulty=2, minutes=15
)
def rates(answer, draw, parts):
    """`answer()` -> {"class_low", "mean_low", "class_high", "mean_high": accuracies, "mean_low_is", "mean_high_is"}."""
    names = [f"{kind}_{rate}" for rate in RATES for kind in ("class", "mean")]
    received = entries(call(answer), (*names, *(f"mean_{rate}_is" for rate in RATES)))
    found = {name: accuracies(received[name], name, low=0.3) for name in names}
    for rate in RATES:
        with parts(f"mean_{rate}_is"):
            said = received[f"mean_{rate}_is"]
            conclusion_follows(said, f"mean_{rate}_is", found[f"mean_{rate}"], found[f"class_{rate}"])
