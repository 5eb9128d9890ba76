"""Exercise start.removed: which part the clock reader can least do without, judged by the learner's own numbers."""

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.by_hand import same_answer
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.numbers import real

# What a thousand steps give: from, to, and what it means if a share lies below or above. Seeds and processors move the
# shares by some hundredths.
PLAUSIBLE = {
    "whole": (
        (0.55, 0.99),
        ("not-trained", "The whole model reads far fewer clocks than it does after 1000 steps."),
        ("too-good", "No model of this size reads so many after 1000 steps."),
    ),
    "without_positions": (
        (0.08, 0.5),
        ("more-than-positions-missing", "Without positions it still reads many more clocks than by guessing."),
        ("positions-still-there", "This is too good for a model without positions: they may have been trained."),
    ),
    "without_attention": (
        (0.0, 0.04),
        None,  # no share is below 0
        ("attention-still-there", "This is too good for a model without attention: look at every block."),
    ),
    "without_mlp": (
        (0.3, 0.97),
        ("more-than-mlp-missing", "Without the MLP it reads many more clocks: something else is missing too."),
        ("too-good", "No model of this size reads so many after 1000 steps."),
    ),
}
PARTS = ("positions", "attention", "mlp")
BECAUSE = {
    "a": ("size-taken-for-cause", "The model without MLP has lost about as many parameters, and still reads clocks."),
    "c": ("more-steps-hoped-for", "More steps change nothing: ask what the class token can know about the picture."),
}


@exercise("Take a part out", section="A whole ViT in 40 lines", difficulty=2, minutes=13)
def removed(answer, draw, parts):
    """`answer()` -> four shares of clocks read right, the part most needed, and why."""
    received = named(call(answer), (*PLAUSIBLE, "most_needed", "because"))
    shares = {}
    for name, (limits, low, high) in PLAUSIBLE.items():
        with parts(name):
            share = real(received[name])
            if 1 < share <= 100:
                raise Wrong("percent", f"{share:g} is a number of percent; a share lies between 0 and 1.")
            if not 0 <= share <= 1:  # nor is NaN
                raise Wrong("wrong-answer", f"{share:g} is no share: a share lies between 0 and 1.")
            shares[name] = share
            if not limits[0] <= share <= limits[1]:
                raise Wrong(*(low if share < limits[0] else high))
    with parts("most_needed"):
        _follows(received["most_needed"], {part: shares.get(f"without_{part}") for part in PARTS})
    with parts("because"):
        same_answer(received["because"], "b", BECAUSE)


def _follows(said, shares: dict) -> None:
    if None in shares.values():
        raise Wrong("nothing-to-conclude-from", "One of the numbers that the conclusion rests on is missing.")
    least = min(shares, key=shares.get)
    others = [part for part in PARTS if part != least]
    slip = ("conclusion-against-numbers", "On your own numbers, another part costs more when it is missing.")
    same_answer(said, least, dict.fromkeys(others, slip))
