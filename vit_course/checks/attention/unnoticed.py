"""Exercise attention.unnoticed: which changes of queries, keys and values the outputs of a head do not show."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import values

CHOICES = "same", "moved", "other"


@exercise("4.3", "What attention does not notice", section="The mechanism", difficulty=2, minutes=10)
def unnoticed(answer, parts):
    """`answer()` -> for each change "same", "moved" or "other", for one of them a number."""
    right = {
        "key_constant": "same",
        "query_constant": "other",
        "value_constant": "moved",
        "keys_doubled": 9.0,
        "traded": "same",
        "token_copied": "same",
    }
    # Why the predictions are wrong, without saying which of the other two is right.
    reasons = {
        "key_constant": "Look at one row of scores: what does the constant add to each of its entries?",
        "query_constant": "Look at one row of scores: is what the constant adds the same for every key?",
        "value_constant": "The weights are as before; each output is an average of values under them.",
        "traded": "Follow both factors into one score.",
        "token_copied": "Sum the weights of the two copies of a token, and see what they are multiplied by.",
    }
    same_answers(
        call(answer),
        right,
        parts,
        mistakes={
            name: {
                choice: (f"{name.replace('_', '-')}-{choice}", reasons[name])
                for choice in CHOICES
                if choice != right[name]
            }
            for name in reasons
        }
        | {"keys_doubled": values(__name__, "keys-doubled")},
    )
