"""Exercise vit.large_head: an experiment of the learner's with the scale of the head."""

import math

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.experiments import by_ranges, changed, follows, losses, paired

SETTINGS = ("small", "large")


@exercise("6.4", "Does a large head slow learning?", section="How it starts", difficulty=2, minutes=12)
def large_head(answer):
    """`answer()` -> {"small": [a loss a seed], "large": [...], "conclusion": "faster", "slower" or "not decided"}."""
    received = named(call(answer), (*SETTINGS, "conclusion"))
    # After 25 steps on ten images; a head of standard deviation 1 starts near 13.
    found = {name: losses(received[name], name, low=1e-4, high=14) for name in SETTINGS}
    paired(found)
    for name, ended in found.items():
        if min(ended) < 0.3:  # three or four steps more make no such difference
            sentence = f"{name!r} holds {min(ended):g}: after 25 steps, each run on a new model, none ends so low."
            raise Wrong("not-after-25-steps", sentence)
    if all(abs(loss - math.log(10)) < 0.2 for loss in found["small"]) and min(found["large"]) > 6:
        raise Wrong("first-losses", "Runs start with such losses; the last one of each run is asked for.")
    changed(found)
    follows(received["conclusion"], "conclusion", ("faster", "not decided", "slower"), by_ranges(found))
