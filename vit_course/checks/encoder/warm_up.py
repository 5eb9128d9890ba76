"""Exercise encoder.warm_up: an experiment of the learner's, and whether the conclusion follows from its numbers."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.experiments import by_ranges, changed, follows, losses, paired

SETTINGS = ("without", "with")


@exercise("Does a warm-up help?", section="Which one trains?", difficulty=2, minutes=14)
def warm_up(answer):
    """`answer()` -> {"without": [a loss a seed], "with": [...], "conclusion": "helps", "hurts" or "not decided"}."""
    received = named(call(answer), (*SETTINGS, "conclusion"))
    # Guessing has the loss ln 10 = 2.3; a run that diverges may be far above.
    found = {name: losses(received[name], name, low=0.05, high=20) for name in SETTINGS}
    paired(found)
    changed(found)
    follows(received["conclusion"], "conclusion", ("helps", "not decided", "hurts"), by_ranges(found))
