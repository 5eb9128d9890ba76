"""Exercise maps.way_up: whether a head that looks one patch up goes by place or by content."""

from statistics import mean

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.experiments import choice, paired, shares

OPTIONS = ("place", "content", "both")


@exercise("How does a head know the way up?", section="Every patch asks too", difficulty=3, minutes=20, seconds=120)
def way_up(answer, draw):
    """`answer()` -> {"plain": [...], "shuffled": [...], "conclusion"}, three photographs or more."""
    received = named(call(answer), ("plain", "shuffled", "conclusion"))
    plain, shuffled = (shares(received[name], name) for name in ("plain", "shuffled"))
    paired({"plain": plain, "shuffled": shuffled}, each="photograph")
    if plain == shuffled:
        raise Wrong("not-shuffled", "plain and shuffled are the same: the same pictures went through twice.")
    if mean(plain) < 0.1:
        raise Wrong(
            "not-the-patch-above",
            "In the plain photographs the weights are near those of an even row: other patches were read, "
            "or another head.",
        )
    if mean(plain) > 0.85 or mean(shuffled) > 0.85:
        raise Wrong("wrong-answer", "This head gives the patch above less than that.")
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
