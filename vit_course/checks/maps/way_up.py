"""Exercise maps.way_up: whether a head that looks one patch up goes by place or by content."""

from statistics import mean

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.experiments import choice, paired, shares

OPTIONS = ("place", "content", "both")


@exercise("How does a head know the way up?", section="Every patch asks too", difficulty=3, minutes=20, seconds=120)
def way_up(answer):
    """`answer()` -> {"plain": [...], "shuffled": [...], "conclusion"}, three photographs or more."""
    received = named(call(answer), ("plain", "shuffled", "conclusion"))
    plain, shuffled = (shares(received[name], name) for name in ("plain", "shuffled"))
    paired({"plain": plain, "shuffled": shuffled}, each="photograph")
    if plain == shuffled:
        raise Wrong("not-shuffled", "plain and shuffled are the same: the same pictures went through twice.")
    # Measured on eleven photographs: 0.48 to 0.71 as they are, and 0.26 to 0.62 shuffled. The largest weight
    # of 0.76 to 0.92 of the queries lies there. The mean over heads gives that patch 0.09 to 0.13, this head its own.
    if mean(plain) < 0.3:
        raise Wrong(
            "not-the-patch-above",
            "In the plain photographs these weights are smaller than what this head gives the patch above: other "
            "patches were read, another head, or several.",
        )
    if mean(plain) > 0.75 or mean(shuffled) > 0.75:
        raise Wrong("wrong-answer", "On photographs this head gives the patch above less than that, on average.")
    if mean(shuffled) > mean(plain):
        raise Wrong("exchanged", "The shuffled pictures give more than the plain ones: the two lists are exchanged.")
    if mean(shuffled) < 0.05:
        raise Wrong(
            "queries-moved",
            "After the shuffle almost nothing is left: the queries or keys were moved as the patches were, "
            "where places stay.",
        )
    said, left = choice(received["conclusion"], "conclusion", OPTIONS), mean(shuffled) / mean(plain)
    follows = "place" if left >= 0.9 else "content" if left < 0.1 else "both"
    if said != follows:
        raise Wrong(
            "does-not-follow",
            "By the two limits of the exercise, the conclusion is not what these numbers say.",
            [f"Left after the shuffle: {left:.2f} of the plain weight"],
        )
