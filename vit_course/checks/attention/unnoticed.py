"""Exercise attention.unnoticed: which changes of queries, keys and values the outputs of a head do not show."""

import math

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, by_answer


def unnoticed(answer, parts):
    """`answer()` -> for each change "same", "moved" or "other", for one of them a number."""
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND))


RIGHT = {
    "key_constant": "same",
    "query_constant": "other",
    "value_constant": "moved",
    "keys_doubled": 9.0,  # 3 squared
    "traded": "same",
    "token_copied": "same",
}

# Why the predictions are wrong, without saying which of the other two is right.
BY_HAND = {
    "key_constant": [
        Mistake(
            "key-constant-moved",
            "Look at one row of scores: what does the constant add to each of its entries?",
            "moved",
        ),
        Mistake(
            "key-constant-other",
            "Look at one row of scores: what does the constant add to each of its entries?",
            "other",
        ),
    ],
    "query_constant": [
        Mistake(
            "query-constant-same",
            "Look at one row of scores: is what the constant adds the same for every key?",
            "same",
        ),
        Mistake(
            "query-constant-moved",
            "Look at one row of scores: is what the constant adds the same for every key?",
            "moved",
        ),
    ],
    "value_constant": [
        Mistake(
            "value-constant-same",
            "The weights are unchanged; each output is an average of the values with these weights.",
            "same",
        ),
        Mistake(
            "value-constant-other",
            "The weights are unchanged; each output is an average of the values with these weights.",
            "other",
        ),
    ],
    "traded": [
        Mistake("traded-moved", "Follow both factors into one score.", "moved"),
        Mistake("traded-other", "Follow both factors into one score.", "other"),
    ],
    "token_copied": [
        Mistake(
            "token-copied-moved",
            "Sum the weights of the two copies of a token, and see what they are multiplied by.",
            "moved",
        ),
        Mistake(
            "token-copied-other",
            "Sum the weights of the two copies of a token, and see what they are multiplied by.",
            "other",
        ),
    ],
    "keys_doubled": [
        Mistake("ratio-kept", "Every score is doubled, and a softmax does notice that.", 3),
        Mistake("ratio-doubled", "The scores are doubled, not the weights: what turns a score into a weight?", 6, 12),
        Mistake("ratio-rooted", "Larger scores do not make the weights more even.", 3**0.5, 1.5),
        Mistake("base-and-power-exchanged", "The base and the exponent are swapped.", 8),
        Mistake("ratio-times-e", "Doubling the scores is not the same as adding 2 to them.", 3 * math.e**2),
    ],
}
