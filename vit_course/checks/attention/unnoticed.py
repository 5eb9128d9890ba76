"""Exercise attention.unnoticed: which changes of queries, keys and values the outputs of a head do not show."""

import math

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Slip, by_answer


def unnoticed(answer, parts):
    """`answer()` -> for each change "same", "moved" or "other", for one of them a number."""
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND))


# Exercise attention.unnoticed: which changes of queries, keys and values the outputs of a head do not show.
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
        Slip(
            "key-constant-moved",
            "Look at one row of scores: what does the constant add to each of its entries?",
            "moved",
        ),
        Slip(
            "key-constant-other",
            "Look at one row of scores: what does the constant add to each of its entries?",
            "other",
        ),
    ],
    "query_constant": [
        Slip(
            "query-constant-same",
            "Look at one row of scores: is what the constant adds the same for every key?",
            "same",
        ),
        Slip(
            "query-constant-moved",
            "Look at one row of scores: is what the constant adds the same for every key?",
            "moved",
        ),
    ],
    "value_constant": [
        Slip(
            "value-constant-same",
            "The weights are unchanged; each output is an average of the values with these weights.",
            "same",
        ),
        Slip(
            "value-constant-other",
            "The weights are unchanged; each output is an average of the values with these weights.",
            "other",
        ),
    ],
    "traded": [
        Slip("traded-moved", "Follow both factors into one score.", "moved"),
        Slip("traded-other", "Follow both factors into one score.", "other"),
    ],
    "token_copied": [
        Slip(
            "token-copied-moved",
            "Sum the weights of the two copies of a token, and see what they are multiplied by.",
            "moved",
        ),
        Slip(
            "token-copied-other",
            "Sum the weights of the two copies of a token, and see what they are multiplied by.",
            "other",
        ),
    ],
    "keys_doubled": [
        Slip("ratio-kept", "Every score is doubled, and a softmax does notice that.", 3),
        Slip("ratio-doubled", "The scores are doubled, not the weights: what turns a score into a weight?", 6, 12),
        Slip("ratio-rooted", "Larger scores do not make the weights more even.", 3**0.5, 1.5),
        Slip(
            "factor-of-scores", "This is the factor of the scores, alone or squared: where is the earlier ratio?", 2, 4
        ),
        Slip("base-and-power-exchanged", "The base and the exponent are swapped.", 8),
        Slip("ratio-times-e", "Doubling the scores is not the same as adding 2 to them.", 3 * math.e**2),
    ],
}
