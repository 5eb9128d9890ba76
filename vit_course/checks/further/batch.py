"""Exercise further.batch: whether a larger rate repairs a larger batch, on several seeds."""

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.experiments import accuracies, changed, choice, paired, ranges

SETTINGS = ("small", "large", "scaled")


@exercise("Does a larger rate repair a larger batch?", section="Several processes", difficulty=3, minutes=15)
def batch(answer):
    """`answer()` -> {"small", "large", "scaled", "conclusion"}: accuracies of at least three seeds each."""
    received = named(call(answer), (*SETTINGS, "conclusion"))
    conclusion = choice(received["conclusion"], "conclusion", ("repairs", "helps", "cannot tell"))
    found = {name: accuracies(received[name], name, lowest=0.15, images=200) for name in SETTINGS}
    paired(found)
    changed(found)
    if min(found["large"]) > max(found["small"]):
        raise Wrong(
            "exchanged",
            "At the same rate every run of the large batch is better than every one of the small batch, which this "
            "training does not give: are two lists exchanged?",
            ranges(found),
        )
    gains = min(found["scaled"]) > max(found["large"])
    reaches = max(found["scaled"]) >= min(found["small"])
    right = "repairs" if gains and reaches else "helps" if gains else "cannot tell"
    if conclusion == right:
        return
    if not gains:
        raise Wrong(
            "more-than-the-numbers-say",
            "Not every scaled run is better than every large one, so no gain is clear.",
            ranges(found),
        )
    if conclusion == "cannot tell":
        raise Wrong("too-careful", "Every scaled run is better than every large one.", ranges(found))
    if right == "helps":
        raise Wrong("gap-overlooked", "Every scaled run is still worse than every small one.", ranges(found))
    raise Wrong("overlap-with-small-overlooked", "The scaled runs reach those of the small batch.", ranges(found))
