"""Exercise attention.unnoticed: which changes of queries, keys and values the outputs of a head do not show."""

import math

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call

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
        | {
            "keys_doubled": {
                3: ("ratio-kept", "Every score is doubled, and a softmax does see this."),
                6: ("ratio-doubled", "The scores are doubled, not the weights: what makes a weight of a score?"),
                1.5: ("ratio-halved", "Larger scores do not make the weights more even."),
                3**0.5: ("ratio-rooted", "Larger scores do not make the weights more even."),
                1: ("ratio-lost", "Equal weights come from equal scores, and these are doubled."),
                2: ("factor-of-scores", "This is what the scores are multiplied by, and not the ratio of two weights."),
                4: (
                    "factor-of-scores",
                    "This is made of the factor of the scores alone: where is the ratio of before?",
                ),
                5: ("ratio-plus-two", "Doubled scores are not scores to which 2 was added."),
                12: ("ratio-doubled", "The scores are doubled, not the weights: what makes a weight of a score?"),
                8: ("base-and-power-exchanged", "The ratio of before stands where its power belongs."),
                3 * math.e**2: ("ratio-times-e", "Doubled scores are not scores to which 2 was added."),
                0.9: ("weight-not-ratio", "This is a weight; the ratio of two weights is asked for."),
                27: ("scores-tripled", "This would follow from scores that are three times as large."),
                81: (
                    "doubled-twice",
                    "This would follow from scores that are four times as large: the queries stay as they were.",
                ),
                18: ("ratio-doubled-too", "The scores are doubled, and the weights not once more after it."),
            }
        },
    )
