"""Exercise maps.distances: the attention distance of four heads, worked out by hand."""

import math

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import values

EVEN, MIDDLE = 80 / 9, 20 / 3


def _of_all(right: float) -> dict[float, tuple[str, str]]:
    # What is done wrongly to any of these distances.
    root = math.sqrt(400 / 3 if right == EVEN else 200 / 3)
    return values(__name__, "of-all", locals())


@exercise("8.4", "Four heads on paper", section="How far does a head look?", difficulty=2, minutes=10)
def distances(answer, parts):
    """`answer()` -> {"itself", "even", "middle", "next", the two controls, "from_distance", "with_control"}."""
    own_key = ("next-without-the-last", "The last patch looks at itself here; this leaves it out or lets it look on.")
    nearest = ("not-at-itself", "A patch that looks at itself looks at distance 0.")
    one_query = ("one-query-only", "This is the distance of one patch; the head's is the mean over all three.")
    same_answers(
        call(answer),
        {
            "itself": 0.0,
            "even": EVEN,
            "middle": MIDDLE,
            "next": MIDDLE,
            "middle_same_row": MIDDLE,
            "next_same_row": EVEN,
            "from_distance": "no",
            "with_control": "yes",
        },
        parts,
        mistakes={
            "itself": {10.0: nearest, EVEN: nearest, MIDDLE: nearest, 1.0: nearest},
            "even": {
                40 / 3: ("own-place-left-out", "A patch that looks at all alike looks at itself too, at distance 0."),
                10.0: one_query,
                MIDDLE: one_query,
                80.0: ("all-distances-added", "These are all nine distances together; the head's is their mean."),
                **_of_all(EVEN),
            },
            "middle": {
                10.0: ("middle-asks-too", "The middle patch asks as well, and it looks at itself."),
                0.0: one_query,
                5.0: ("one-query-left-out", "This is a mean over two patches; all three ask."),
                EVEN: ("taken-for-even", "This is the distance of looking at all three alike."),
                **_of_all(MIDDLE),
            },
            "next": {
                10.0: own_key,
                40 / 3: ("last-looks-back", "The last patch looks at itself, at distance 0, and not at the first."),
                0.0: one_query,
                5.0: ("one-query-left-out", "This is a mean over two patches; all three ask."),
                EVEN: ("taken-for-even", "This is the distance of looking at all three alike."),
                **_of_all(MIDDLE),
            },
            "middle_same_row": {
                **_of_all(MIDDLE),
                EVEN: ("control-taken-for-even", "The mean of three equal rows is that row, not an even one."),
            },
            "next_same_row": {
                **_of_all(EVEN),
                10.0: one_query,
                40 / 3: one_query,
                25 / 3: ("mean-of-two-rows", "The mean row is that of two of the three patches; all three ask."),
                MIDDLE: ("control-left-as-it-was", "This head's rows differ, so their mean is none of them."),
            },
            "from_distance": {
                "yes": ("distance-taken-for-nearness", "This tells apart two heads that have the same distance.")
            },
            "with_control": {
                "no": ("control-not-used", "One of the two heads lies below its own control, the other does not.")
            },
        },
    )
