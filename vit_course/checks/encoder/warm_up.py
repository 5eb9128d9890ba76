"""Exercise encoder.warm_up: an experiment of the learner's, and whether the conclusion follows from its numbers."""

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.experiments import by_ranges, changed, follows, losses, paired, ranges

SETTINGS = ("without", "with")
GUESSING = 2.2  # a little below ln 10 = 2.3, the loss of ten equal probabilities


@exercise("5.4", "Does a warm-up help?", section="Which one trains?", difficulty=2, minutes=14)
def warm_up(answer):
    """`answer()` -> {"without": [a loss a seed], "with": [...], "conclusion": "helps", "hurts" or "not decided"}."""
    received = named(call(answer), (*SETTINGS, "conclusion"))
    # A run that diverges may be far above guessing.
    found = {name: losses(received[name], name, low=0.05, high=20) for name in SETTINGS}
    paired(found)
    changed(found)
    if min(map(min, found.values())) > GUESSING:
        sentence = "Not one run ends below the loss of guessing, ln 10 = 2.3: at the rate of this exercise runs learn."
        raise Wrong("not-trained", sentence, ranges(found))
    follows(received["conclusion"], "conclusion", ("helps", "not decided", "hurts"), by_ranges(found))
