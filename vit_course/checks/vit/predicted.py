"""Exercise vit.predicted: predictions about a new model."""

import math

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, by_answer


def predicted(answer, parts):
    """`answer()` -> {"features", "first_loss", "large_head", "parameters", "multiply_adds"}.

    Images of 48 x 32 pixels, P = 8, D = 96, L = 2, h = 4, M = 384, K = 20, batches of 4.
    """
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND))


RIGHT = {
    "features": (4, 25, 96),  # 6 x 4 patches and the class token
    "first_loss": 2.9957,  # ln 20
    "large_head": "larger",  # sure of a random class
    "parameters": "a little more",  # the position table alone has a row for each token
    "multiply_adds": "more than four times",  # 4.3, by the chapter's table
}

BY_HAND = {
    "features": [
        Mistake("class-output-only", "This is the class output; `features` ends with every token.", (4, 96)),
        Mistake("logits-not-features", "These are the logits; `features` ends before the head.", (4, 20)),
        Mistake("logits-not-features", "The head has been applied; `features` ends before it.", (4, 25, 20)),
        Mistake("class-token-forgotten", "The patches are all there; one token is not a patch.", (4, 24, 96)),
        Mistake("batch-forgotten", "This is one image; there are four.", (25, 96), (1, 25, 96)),
        Mistake("inner-width", "This is the width inside an MLP; its output has a different width.", (4, 25, 384)),
        Mistake("sides-added", "The rows and columns of patches are added; they should be multiplied.", (4, 11, 96)),
        Mistake("tokens-and-width-swapped", "The axis of the width comes before the axis of the tokens.", (4, 96, 25)),
    ],
    "first_loss": [
        Mistake("probability-not-loss", "This is the share of each class; the loss is computed from it.", 1 / 20),
        Mistake("sign-lost", "A loss of this kind is never negative.", -math.log(20)),
        Mistake(
            "other-logarithm",
            "The logarithm has a different base from the one in the loss.",
            math.log2(20),
            math.log10(20),
        ),
        Mistake(
            "ten-classes", "This is the loss for ten classes, but this model does not have ten.", math.log(10), 2.3
        ),
        Mistake("batch-for-classes", "This is computed from the size of the batch.", math.log(4)),
        Mistake("no-loss", "A loss of 0 would mean that the model is sure of the right class.", 0.0),
    ],
    "large_head": [
        Mistake(
            "guess-taken-for-undecided",
            "Guessing correctly one time in K is not the same as giving every class a share of 1/K.",
            "the same",
        ),
        Mistake("sure-and-right", "Large logits make the model sure, but nothing makes it right.", "smaller"),
    ],
    "parameters": [
        Mistake("table-forgotten", "One part has a row for each token, and there are more tokens.", "the same"),
        Mistake(
            "weights-for-each-token",
            "The tokens share nearly all weights, so more tokens do not need more matrices.",
            "four times",
        ),
    ],
    "multiply_adds": [
        Mistake(  # would mislead: without it, "the same" is not among the options
            "shared-weights-are-free",
            "A shared weight is stored once but used for each token, and there are more tokens.",
            "the same",
        ),
        Mistake("sides-not-areas", "The number of patches does not grow with one side alone.", "twice"),
        Mistake("products-forgotten", "Part of the cost grows faster than the number of tokens.", "at most four times"),
    ],
}
