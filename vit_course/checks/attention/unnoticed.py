"""Exercise attention.unnoticed: which changes of queries, keys and values the outputs of a head do not show."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import by_answer

RIGHT = {
    "key_constant": "same",
    "query_constant": "other",
    "value_constant": "moved",
    "keys_doubled": 9.0,
    "traded": "same",
    "token_copied": "same",
}


@exercise("4.3", "What attention does not notice", section="The mechanism", difficulty=2, minutes=10)
def unnoticed(answer, parts):
    """`answer()` -> for each change "same", "moved" or "other", for one of them a number."""
    same_answers(call(answer), RIGHT, parts, mistakes=by_answer(__name__, "by-hand"))
