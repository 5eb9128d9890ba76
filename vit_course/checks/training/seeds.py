"""Exercise training.seeds: an experiment with several seeds, and the conclusion that follows from it."""

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.experiments import accuracies, need_report, need_same_seeds, option

CHANGES = ("padding", "warmup", "label_smoothing", "clip_norm")


@exercise("Does it help? Ask several seeds", section="A recipe", difficulty=3, minutes=18)
def seeds(answer, draw):
    """`answer()` -> {"change", "without", "with", "conclusion"}: accuracies of at least four seeds each."""
    received = call(answer)
    need_report(received, ("change", "without", "with", "conclusion"))
    option("change", received["change"], CHANGES)
    conclusion = option("conclusion", received["conclusion"], ("helps", "hurts", "cannot tell"))
    without, changed = (
        accuracies(name, received[name], images=200, fewest=4, lowest=0.5) for name in ("without", "with")
    )
    need_same_seeds({"without": without, "with": changed})
    right = "cannot tell"
    if min(changed) > max(without):
        right = "helps"
    elif max(changed) < min(without):
        right = "hurts"
    if conclusion == right:
        return
    details = [
        f"Without: {min(without):.3f} to {max(without):.3f}",
        f"With: {min(changed):.3f} to {max(changed):.3f}",
    ]
    if right == "cannot tell":
        raise Wrong("overlap-overlooked", "The two ranges overlap, so by the rule these runs cannot tell.", details)
    if conclusion == "cannot tell":
        raise Wrong("separation-overlooked", "The two ranges do not overlap, so the rule allows a conclusion.", details)
    raise Wrong("wrong-direction", "The conclusion says the opposite of the numbers.", details)
