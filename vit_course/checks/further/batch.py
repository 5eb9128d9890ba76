"""Exercise further.batch: whether a larger rate repairs a larger batch, on several seeds."""

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.experiments import accuracies, need_report, need_same_seeds, option

SETTINGS = ("small", "large", "scaled")


@exercise("Does a larger rate repair a larger batch?", section="Several processes", difficulty=3, minutes=15)
def batch(answer, draw):
    """`answer()` -> {"small", "large", "scaled", "conclusion"}: accuracies of at least three seeds each."""
    received = call(answer)
    need_report(received, (*SETTINGS, "conclusion"))
    conclusion = option("conclusion", received["conclusion"], ("repairs", "helps", "cannot tell"))
    found = {name: accuracies(name, received[name], images=200, fewest=3, lowest=0.15) for name in SETTINGS}
    need_same_seeds(found)
    details = [f"{name}: {min(values):.3f} to {max(values):.3f}" for name, values in found.items()]
    gains = min(found["scaled"]) > max(found["large"])
    reaches = max(found["scaled"]) >= min(found["small"])
    right = "repairs" if gains and reaches else "helps" if gains else "cannot tell"
    if conclusion == right:
        return
    if not gains:
        raise Wrong(
            "overlap-overlooked", "Not every scaled run is better than every large one, so no gain is clear.", details
        )
    if conclusion == "cannot tell":
        raise Wrong("gain-overlooked", "Every scaled run is better than every large one.", details)
    if right == "helps":
        raise Wrong("gap-overlooked", "Every scaled run is still worse than every small one.", details)
    raise Wrong("overlap-with-small-overlooked", "The scaled runs reach those of the small batch.", details)
