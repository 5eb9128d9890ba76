"""Exercise maps.way_up: whether a head that looks one patch up goes by place or by content."""

from statistics import mean

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.experiments import choice, paired, recognised, shares
from vit_course.checks.tools.table import refuse

OPTIONS = ("place", "content", "both")
# What the eleven photographs of the course give as they are, in alphabetical order: the right numbers and others.
PLAIN = [0.5725, 0.7028, 0.7097, 0.5878, 0.5877, 0.5314, 0.5324, 0.4827, 0.6014, 0.6243, 0.6149]
OTHERWISE = {
    "rescaled": [0.5842, 0.7118, 0.712, 0.5996, 0.5924, 0.5414, 0.5414, 0.4936, 0.6198, 0.6518, 0.6205],
    "class-token-kept": [0.5739, 0.7029, 0.71, 0.5886, 0.5889, 0.5333, 0.5332, 0.4844, 0.6029, 0.6258, 0.6163],
    "first-row-counted": [weight * 15 / 16 for weight in PLAIN],
    "largest-counted": [0.8375, 0.9125, 0.9167, 0.8292, 0.8958, 0.7792, 0.7875, 0.7583, 0.8625, 0.8875, 0.9083],
}
SENTENCES = {
    "rescaled": "The rows were rescaled to 1 without the class token; the weights are asked for as recorded.",
    "class-token-kept": "The class token is still in the table: a pair too many is averaged.",
    "first-row-counted": "The sum is divided by all 256 queries; those of the first row have no patch above.",
    "largest-counted": "These are the shares of queries whose largest weight lies above; the weights are asked for.",
}


@exercise(
    "8.5", "How does a head know the way up?", section="Every patch asks too", difficulty=3, minutes=20, seconds=120
)
def way_up(answer):
    """`answer()` -> {"plain": [...], "shuffled": [...], "conclusion"}, three photographs or more."""
    received = named(call(answer), ("plain", "shuffled", "conclusion"))
    plain, shuffled = (shares(received[name], name) for name in ("plain", "shuffled"))
    paired({"plain": plain, "shuffled": shuffled}, each="photograph")
    if plain == shuffled:
        raise Wrong("not-shuffled", "plain and shuffled are the same: the same pictures went through twice.")
    slip = recognised(_runs(plain), _runs(PLAIN), {name: _runs(numbers) for name, numbers in OTHERWISE.items()}, 6e-4)
    if slip:
        raise Wrong(slip, SENTENCES[slip])
    # Measured on eleven photographs: 0.48 to 0.71 as they are, and 0.26 to 0.62 shuffled. The largest weight
    # of 0.76 to 0.92 of the queries lies there. The mean over heads gives that patch 0.09 to 0.13, this head its own.
    refuse(__name__, "way-up", locals())
    said, left = choice(received["conclusion"], "conclusion", OPTIONS), mean(shuffled) / mean(plain)
    follows = "place" if left >= 0.9 else "content" if left < 0.1 else "both"
    if said != follows:
        raise Wrong(
            "does-not-follow",
            "By the two limits of the exercise, the conclusion is not what these numbers say.",
            [f"Left after the shuffle: {left:.2f} of the plain weight"],
        )


def _runs(numbers: list[float]) -> list[list[float]]:
    return [[number] for number in numbers]
