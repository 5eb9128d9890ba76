"""Exercise positions.patch_sizes: what positions are worth as patches shrink, measured and concluded."""

from functools import cache
from statistics import mean

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import by_spread, follows, paired, rerun, seeds, shares
from vit_course.checks.tools.returned import named

SIDES, KINDS = (4, 2, 1), ("none", "learned")
STEPS = {"4 to 2": (4, 2), "2 to 1": (2, 1)}


def patch_sizes(answer, draw, parts):
    """`answer()` -> {"seeds", "none": {4: [...], ...}, "learned": {...}, "conclusion": {"4 to 2": "grows", ...}}."""
    received = named(call(answer), ("seeds", *KINDS, "conclusion"))
    runs, said = seeds(received["seeds"], 3), received["conclusion"]
    if not isinstance(said, dict) or said.keys() != STEPS.keys():
        raise Wrong("wrong-keys", "'conclusion' is not a dict with the two steps '4 to 2' and '2 to 1'.")
    for kind in KINDS:
        if not isinstance(received[kind], dict) or not set(SIDES) <= set(received[kind]):
            sentence = f"{kind!r} is not a dict with a list of accuracies for each of the sides 4, 2 and 1."
            raise Wrong("wrong-keys", sentence)
    found = {}
    for kind in KINDS:
        for side in SIDES:
            found[kind, side] = shares(received[kind][side], f"{kind}, side {side}", what="accuracy")
    paired({"seeds": runs} | found)
    # Each kind at one side at least; 64 patches take a quarter of a minute.
    first, second = draw.choose([KINDS, KINDS[::-1]])
    kinds = [[(first, 4)], [(second, 2)], [(first, 1)]]
    rerun(found, {"seed": runs}, _accuracy, draw, near=0.05, kinds=kinds)
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
