"""Exercise maps.distances: the attention distance of four heads, worked out by hand."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import by_answer, values

EVEN, MIDDLE = 80 / 9, 20 / 3
RIGHT = {
    "itself": 0.0,
    "even": EVEN,
    "middle": MIDDLE,
    "next": MIDDLE,
    "middle_same_row": MIDDLE,
    "next_same_row": EVEN,
    "from_distance": "no",
    "with_control": "yes",
}


def distances(answer, parts):
    """`answer()` -> {"itself", "even", "middle", "next", the two controls, "from_distance", "with_control"}."""
    mistakes = by_answer(__name__, "by-hand")
    for name, right in RIGHT.items():
        if right in (EVEN, MIDDLE):
            mistakes[name] |= values(__name__, "of-all", {"right": right})
    same_answers(call(answer), RIGHT, parts, mistakes)
