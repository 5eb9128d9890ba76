"""Exercise maps.distances: the attention distance of four heads, worked out by hand."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, by_answer


def distances(answer, parts):
    """`answer()` -> {"itself", "even", "middle", "next", the two controls, "from_distance", "with_control"}."""
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND))


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


def _of_any(right: float) -> list[Mistake]:
    """Mistakes that can happen in every answer that is neither 0 nor a word."""
    return [
        Mistake("in-patches", "This counts patches; the exercise asks for pixels.", right / 10, round(right / 10, 2)),
        Mistake(
            "queries-added", "The distances of the three patches are added; that of the head is their mean.", 3 * right
        ),
        Mistake(
            "rounded",
            "This is rounded to whole pixels or to one decimal; the exercise asks for two.",
            float(round(right)),
            round(right, 1),
        ),
    ]


def _of_one_query(*distances: float) -> Mistake:
    sentence = "This is the distance of one patch; that of the head is the mean over all three."
    return Mistake("one-query-only", sentence, *distances)


# Would mislead: the distance is worked out correctly. (80 / 9 is near enough to 8.88.)
CUT_OFF = Mistake("cut-off", "This is cut off after two decimals; it should be rounded.", 6.66)

BY_HAND = {
    "itself": [
        Mistake("not-at-itself", "A patch that looks at itself looks at distance 0.", 10.0, 80 / 9, 20 / 3, 1.0),
    ],
    "even": [
        Mistake(
            "own-place-left-out",
            "A patch that looks at all patches equally also looks at itself, at distance 0.",
            40 / 3,
        ),
        _of_one_query(10.0, 20 / 3),
        *_of_any(RIGHT["even"]),
    ],
    "middle": [
        Mistake("middle-asks-too", "The middle patch also asks, and it looks at itself.", 10.0),
        _of_one_query(0.0),
        *_of_any(RIGHT["middle"]),
        CUT_OFF,
    ],
    "next": [
        Mistake(
            "next-without-the-last",
            "The last patch looks at itself here; this leaves it out or lets it look further.",
            10.0,
        ),
        _of_one_query(0.0),
        *_of_any(RIGHT["next"]),
        CUT_OFF,
    ],
    "middle_same_row": [
        Mistake("control-taken-for-even", "The mean of three equal rows is that row, not an even one.", 80 / 9),
        *_of_any(RIGHT["middle_same_row"]),
        CUT_OFF,
    ],
    "next_same_row": [
        _of_one_query(10.0, 40 / 3),
        Mistake("control-left-as-it-was", "The rows of this head differ, so their mean is not one of them.", 20 / 3),
        *_of_any(RIGHT["next_same_row"]),
    ],
    "from_distance": [
        Mistake("distance-taken-for-nearness", "This would tell apart two heads that have the same distance.", "yes"),
    ],
    "with_control": [
        Mistake("control-not-used", "One of the two heads lies below its own control; the other does not.", "no"),
    ],
}
