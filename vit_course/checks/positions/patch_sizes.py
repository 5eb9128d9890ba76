"""Exercise positions.patch_sizes: what positions are worth as patches shrink, measured and concluded."""

from collections.abc import Mapping

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.experiments import by_spread, changed, follows, shares

SIDES, KINDS = (4, 2, 1), ("none", "learned")
STEPS = {"4 to 2": (4, 2), "2 to 1": (2, 1)}
CONCLUSIONS = ("falls", "open", "grows")
# Where the means of three seeds lie, with room for other machines and seeds.
PLAUSIBLE = {
    ("none", 4): (0.85, 0.995),
    ("learned", 4): (0.85, 0.995),
    ("none", 2): (0.5, 0.8),
    ("learned", 2): (0.75, 0.97),
    ("none", 1): (0.1, 0.4),
    ("learned", 1): (0.22, 0.95),
}


@exercise("3.5", "Experiment: smaller patches", section="What are positions worth?", difficulty=3, minutes=20)
def patch_sizes(answer, parts):
    """`answer()` -> {"none": {4: [...], ...}, "learned": {...}, "conclusion": {"4 to 2": "grows", ...}}."""
    received = named(call(answer), (*KINDS, "conclusion"))
    said = received["conclusion"]
    if not isinstance(said, Mapping) or set(said) != set(STEPS):
        expected = " and ".join(map(repr, STEPS))
        raise Wrong("wrong-keys", f"'conclusion' is no dict of the two steps {expected}.")
    found = {(kind, side): _accuracies(received[kind], kind, side) for kind in KINDS for side in SIDES}
    changed(found)
    means = {place: sum(values) / len(values) for place, values in found.items()}
    _plausible(means)
    gains = {side: means["learned", side] - means["none", side] for side in SIDES}
    for name, (before, after) in STEPS.items():
        with parts(name):
            # The range of three seeds is about 1.7 standard deviations: a step larger than the largest is hardly luck.
            step = f"Your mean gain, {gains[before]:.3f} and then {gains[after]:.3f}, changes by"
            difference = by_spread(step, gains[after] - gains[before], *found.values())
            follows(said[name], name, CONCLUSIONS, difference)


def _accuracies(of_kind, kind: str, side: int) -> list[float]:
    if isinstance(of_kind, Mapping) and str(side) in of_kind:
        raise Wrong("wrong-keys", f"In {kind!r}, the side {side} is a str where an int is asked for.")
    if not isinstance(of_kind, Mapping) or side not in of_kind:
        raise Wrong("wrong-keys", f"There are no accuracies for {kind!r} with patches of side {side}.")
    return shares(of_kind[side], f"{kind}, side {side}", what="accuracy", may_repeat=True)


def _plausible(means: dict) -> None:
    def fits(place, value):
        low, high = PLAUSIBLE[place]
        return low <= value <= high

    if all(fits(place, value) for place, value in means.items()):
        return
    if all(fits((KINDS[1 - KINDS.index(kind)], side), value) for (kind, side), value in means.items()):
        raise Wrong("kinds-exchanged", "The numbers look right with the two kinds exchanged.")
    if all(fits((kind, {4: 1, 2: 2, 1: 4}[side]), value) for (kind, side), value in means.items()):
        raise Wrong("sides-exchanged", "The numbers look right with the sides of the patches in the other order.")
    if all(fits(place, 1 - value) for place, value in means.items()):
        raise Wrong("errors-for-accuracies", "The numbers look like the shares of digits that are named wrongly.")
    (kind, side), value = next((place, value) for place, value in means.items() if not fits(place, value))
    low, high = PLAUSIBLE[kind, side]
    raise Wrong(
        "wrong-values",
        f"{kind!r}, side {side}: this training gives other accuracies. Were the model, the recipe and the test images "
        "those of the chapter?",
        [f"Expected: a mean from {low} to {high}", f"Received: {value:.3f}"],
    )
