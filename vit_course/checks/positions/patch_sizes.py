"""Exercise positions.patch_sizes: what positions are worth as patches shrink, measured and concluded."""

from functools import cache
from statistics import mean

from vit_course.checks.tools.calling import call
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import by_spread, follows, made_again, paired, seeds, shares
from vit_course.checks.tools.mistakes import Slip, refuse
from vit_course.checks.tools.returned import named

SIDES, KINDS = (4, 2, 1), ("none", "learned")
STEPS = {"4 to 2": (4, 2), "2 to 1": (2, 1)}


def patch_sizes(answer, draw, parts):
    """`answer()` -> {"seeds", "none": {4: [...], ...}, "learned": {...}, "conclusion": {"4 to 2": "grows", ...}}."""
    received = named(call(answer), ("seeds", *KINDS, "conclusion"))
    runs, said = seeds(received["seeds"], 3), received["conclusion"]
    refuse(KEYS, dict(received=received, said=said))
    found = {}
    for kind, side in ((kind, side) for kind in KINDS for side in SIDES):
        found[kind, side] = shares(received[kind][side], f"{kind}, side {side}", what="accuracy")
    paired({"seeds": runs} | found)
    first, second = draw.choose(
        [KINDS, KINDS[::-1]]
    )  # each at one side at least; 64 patches take a quarter of a minute
    kinds = [[(first, 4)], [(second, 2)], [(first, 1)]]
    made_again(found, {"seed": runs}, _accuracy, draw, near=0.05, kinds=kinds, slips=AGAIN)
    gains = {side: mean(found["learned", side]) - mean(found["none", side]) for side in SIDES}
    for name, (before, after) in STEPS.items():
        with parts(name):
            # The range of three seeds is about 1.7 standard deviations: a step larger than the largest is hardly luck.
            step = f"Your mean gain, {gains[before]:.3f} and then {gains[after]:.3f}, changes by"
            difference = by_spread(step, gains[after] - gains[before], *found.values())
            follows(said[name], name, ("falls", "open", "grows"), difference)


@cache
def _accuracy(setting: tuple[str, int], seed: int) -> float:
    train_digits, digits, training = of_chapter("03_position_embeddings", "train_digits", "digits", "training")
    kind, side = setting
    return training.evaluate(train_digits(side, kind, seed), digits.test, digits)[1]


KEYS = [
    Slip(
        "wrong-keys",
        "'conclusion' is not a dict with the two steps '4 to 2' and '2 to 1'.",
        lambda said: not isinstance(said, dict) or said.keys() != STEPS.keys(),
    ),
    Slip(
        "wrong-keys",
        "'none' and 'learned' should each be a dict with a list of accuracies for the sides 4, 2 and 1.",
        lambda received: (
            not all(isinstance(received[kind], dict) and set(SIDES) <= set(received[kind]) for kind in KINDS)
        ),
    ),
]

AGAIN = [
    Slip(
        "errors-for-accuracies",
        "Repeating a run gives a different number: yours is the share of digits that the model gets wrong.",
        lambda setting, source: 1 - _accuracy(setting, source),
    ),
    Slip(
        "kinds-exchanged",
        "Repeating a run gives a different number: yours belongs to the other kind of positions.",
        lambda setting, source: _accuracy(({"none": "learned", "learned": "none"}[setting[0]], setting[1]), source),
    ),
]
