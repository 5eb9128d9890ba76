"""Exercise maps.distances: the attention distance of four heads, worked out by hand."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call

EVEN, MIDDLE = 80 / 9, 20 / 3


@exercise("Four heads on paper", section="How far does a head look?", difficulty=2, minutes=10)
def distances(answer, draw, parts):
    """`answer()` -> {"itself", "even", "middle", "next", the two controls, "from_distance", "with_control"}."""
    own_key = ("next-without-the-last", "The last patch looks at itself here; this leaves it out or lets it look on.")
    in_patches = "This counts patches where pixels are asked for."
    even = {
        round(EVEN / 10, 2): ("in-patches", in_patches),
        40 / 3: ("own-place-left-out", "A patch that looks at all alike looks at itself too, at distance 0."),
        10.0: ("one-query-only", "This is the distance of an outer patch; the head's is the mean over all three."),
    }
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
            "even": even,
            "middle": {10.0: ("middle-asks-too", "The middle patch asks as well, and it looks at itself.")},
            "next": {10.0: own_key},
            "middle_same_row": {
                EVEN: ("control-taken-for-even", "The mean of three equal rows is that row, not an even one.")
            },
            "next_same_row": {
                MIDDLE: ("control-left-as-it-was", "This head's rows differ, so their mean is none of them.")
            },
            "from_distance": {
                "yes": ("distance-taken-for-nearness", "This tells apart two heads that have the same distance.")
            },
            "with_control": {
                "no": ("control-not-used", "One of the two heads lies below its own control, the other does not.")
            },
        },
    )
