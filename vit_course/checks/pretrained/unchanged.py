"""Exercise pretrained.unchanged: which changes of the numbers leave a network what it was."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, by_answer


def unchanged(answer, parts):
    """`answer()` -> {"key_bias", "scaled", "heads", "hidden", "gelu", "norm"}, a bool each."""
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND))


RIGHT = {
    "key_bias": True,  # the same is added to all scores of a query
    "scaled": True,  # 2 times 1/2 in each product
    "heads": False,  # the projection reads the heads by their place
    "hidden": True,  # a sum over hidden units has no order
    "gelu": False,  # a GELU of twice the number is not twice the GELU
    "norm": True,  # after the norm 2 times 1/2, and the bias of qkv is added behind
}

# Of the answer that is not right; which one that is, the sentence does not say.
BY_HAND = {
    "key_bias": [
        Mistake(
            "softmax-misread",
            "Ask what c adds to the scores of one query, key by key, and what the softmax does with it.",
            False,
        ),
    ],
    "scaled": [
        Mistake("product-misread", "Ask where queries and keys meet, and which factor their product then has.", False),
    ],
    "heads": [
        Mistake(
            "projection-forgotten",
            "Ask which layer reads the heads side by side, and how it knows which is which.",
            True,
        ),
    ],
    "hidden": [
        Mistake(
            "wrong-answer",
            "Ask whether a sum over hidden units changes with their order, and what reads each of them.",
            False,
        ),
    ],
    "gelu": [
        Mistake(
            "gelu-misread", "Ask what comes between the two factors, and whether a factor can pass through it.", True
        ),
    ],
    "norm": [
        Mistake(
            "scale-misread",
            "Ask where in the norm its weight and bias act: before or after dividing by the spread?",
            False,
        ),
    ],
}
