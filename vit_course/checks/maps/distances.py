"""Exercise maps.distances: the attention distance of four heads, worked out by hand."""

import math

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Slip, by_answer


def distances(answer, parts):
    """`answer()` -> {"itself", "even", "middle", "next", the two controls, "from_distance", "with_control"}."""
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND, right=RIGHT))


# Exercise maps.distances: the attention distance of four heads, worked out by hand.
# Of each answer that is neither 0 nor a word.
OF_ALL = [
    Slip(
        "in-patches",
        "This counts patches; the exercise asks for pixels.",
        lambda right: right / 10,
        lambda right: round(right / 10, 2),
    ),
    Slip(
        "queries-added",
        "The distances of the three patches are added; that of the head is their mean.",
        lambda right: 3 * right,
    ),
    Slip("divided-twice", "The mean over the three patches is divided by three again.", lambda right: right / 3),
    Slip(
        "rounded",
        "This is rounded to whole pixels or to one decimal; the exercise asks for two.",
        lambda right: float(round(right)),
        lambda right: round(right, 1),
    ),
    Slip(
        "cut-off",
        "This is cut off after two decimals; it should be rounded.",
        lambda right: math.floor(100 * right) / 100,
    ),
    Slip(
        "squares-averaged",
        "The squares of the distances were averaged, not the distances themselves.",
        lambda right: math.sqrt((15 if right > 8 else 10) * right),
    ),
]

RIGHT = {
    "itself": 0.0,
    "even": 8.88888888888889,  # 80 / 9: of the nine distances two are 20, four 10 and three 0
    "middle": 6.666666666666667,  # 20 / 3
    "next": 6.666666666666667,
    "middle_same_row": 6.666666666666667,
    "next_same_row": 8.88888888888889,
    "from_distance": "no",
    "with_control": "yes",
}

BY_HAND = {
    "itself": [
        Slip("not-at-itself", "A patch that looks at itself looks at distance 0.", 10.0, 80 / 9, 20 / 3, 1.0),
    ],
    "even": [
        Slip(
            "own-place-left-out",
            "A patch that looks at all patches equally also looks at itself, at distance 0.",
            40 / 3,
        ),
        Slip(
            "one-query-only",
            "This is the distance of one patch; that of the head is the mean over all three.",
            10.0,
            20 / 3,
        ),
        Slip("all-distances-added", "This is the sum of all nine distances; that of the head is their mean.", 80.0),
        *OF_ALL,
    ],
    "middle": [
        Slip("middle-asks-too", "The middle patch also asks, and it looks at itself.", 10.0),
        Slip("one-query-only", "This is the distance of one patch; that of the head is the mean over all three.", 0.0),
        Slip("one-query-left-out", "This is a mean over two patches; all three ask.", 5.0),
        Slip("taken-for-even", "This is the distance for looking at all three equally.", 80 / 9),
        *OF_ALL,
    ],
    "next": [
        Slip(
            "next-without-the-last",
            "The last patch looks at itself here; this leaves it out or lets it look further.",
            10.0,
        ),
        Slip("last-looks-back", "The last patch looks at itself, at distance 0, not at the first.", 40 / 3),
        Slip("one-query-only", "This is the distance of one patch; that of the head is the mean over all three.", 0.0),
        Slip("one-query-left-out", "This is a mean over two patches; all three ask.", 5.0),
        Slip("taken-for-even", "This is the distance for looking at all three equally.", 80 / 9),
        *OF_ALL,
    ],
    "middle_same_row": [
        Slip("control-taken-for-even", "The mean of three equal rows is that row, not an even one.", 80 / 9),
        *OF_ALL,
    ],
    "next_same_row": [
        Slip(
            "one-query-only",
            "This is the distance of one patch; that of the head is the mean over all three.",
            10.0,
            40 / 3,
        ),
        Slip("mean-of-two-rows", "This is the mean row of only two of the three patches; all three ask.", 25 / 3),
        Slip("control-left-as-it-was", "The rows of this head differ, so their mean is not one of them.", 20 / 3),
        *OF_ALL,
    ],
    "from_distance": [
        Slip("distance-taken-for-nearness", "This would tell apart two heads that have the same distance.", "yes"),
    ],
    "with_control": [
        Slip("control-not-used", "One of the two heads lies below its own control; the other does not.", "no"),
    ],
}
