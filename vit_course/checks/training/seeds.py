"""Exercise training.seeds: an experiment with several seeds, and the conclusion that follows from it."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.experiments import accuracies, by_ranges, changed, choice, follows, paired

CHANGES = ("padding", "warmup", "label_smoothing", "clip_norm")
SETTINGS = ("without", "with")


@exercise("7.5", "Does it help? Ask several seeds", section="A recipe", difficulty=3, minutes=18)
def seeds(answer):
    """`answer()` -> {"change", "without", "with", "conclusion"}: accuracies of at least four seeds each."""
    received = named(call(answer), ("change", *SETTINGS, "conclusion"))
    choice(received["change"], "change", CHANGES)
    found = {name: accuracies(received[name], name, lowest=0.5, fewest=4, images=200) for name in SETTINGS}
    paired(found)
    changed(found)
    follows(received["conclusion"], "conclusion", ("hurts", "cannot tell", "helps"), by_ranges(found))
