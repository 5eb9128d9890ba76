"""Exercise class_token.reached: predictions of which tokens the loss reaches."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, by_answer


def reached(answer, parts):
    """`answer()` -> {"one_patch_in", "patch_mean_out", "patch_mean_in", ...}: numbers of tokens reached."""
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND))


RIGHT = {
    "one_patch_in": 7,  # attention leads to every token
    "patch_mean_out": 6,  # the class token is not read
    "patch_mean_in": 7,  # attention leads to every token
    "all_off_patch_mean_in": 6,  # each patch reaches itself alone
    "last_off_between": 1,  # the class token alone, after the last exchange
    "last_off_in": 7,  # by the two exchanges before
}

TOO_MANY = Mistake("more-than-there-are", "There are only seven tokens, including the class token.", range(8, 1000))
MEAN_AS_ONE = Mistake(
    "mean-as-one-token", "This counts the mean as one token, but it is computed from several, and depends on each.", 1
)
NOTHING_PASSES = Mistake(
    "direct-way-forgotten",
    "This would mean that a block without exchange lets nothing pass; but each token passes through it by itself.",
    0,
)

BY_HAND = {
    "one_patch_in": [
        Mistake(
            "only-what-is-read",
            "This counts the token that the head gets, but on its way through the blocks it read other tokens.",
            1,
        ),
        Mistake(
            "two-tokens-only",
            "This counts patch token 3 and the class token, as if only these two exchanged anything in a block.",
            2,
        ),
        Mistake(
            "class-token-left-out",
            "This leaves out the class token, as if patch tokens depended on patch tokens only.",
            6,
        ),
        TOO_MANY,
    ],
    "patch_mean_out": [
        Mistake(
            "unread-token-counted",
            "This counts every token that comes out, but the loss depends only on those that the head gets.",
            7,
        ),
        MEAN_AS_ONE,
        TOO_MANY,
    ],
    "patch_mean_in": [
        Mistake(
            "only-what-is-read",
            "This counts the tokens that are averaged, but on their way through the blocks they read other tokens.",
            6,
        ),
        MEAN_AS_ONE,
        TOO_MANY,
    ],
    "all_off_patch_mean_in": [
        Mistake(
            "way-through-closed-block",
            "This counts a path from one token to another, but the exchange is switched off in every block.",
            7,
        ),
        NOTHING_PASSES,
        MEAN_AS_ONE,
        TOO_MANY,
    ],
    "last_off_between": [
        Mistake(
            "way-through-closed-block",
            "This counts a path from one token to another in the last block, where the exchange is switched off.",
            7,
        ),
        Mistake(
            "patches-for-class-token",
            "This counts the patch tokens, as if the head got their mean; in this model it gets the class token.",
            6,
        ),
        NOTHING_PASSES,
        TOO_MANY,
    ],
    "last_off_in": [
        Mistake(
            "one-block-cuts-all",
            "This treats the exchange as switched off in every block, but it is switched off in the last one only.",
            1,
        ),
        Mistake(
            "class-token-left-out",
            "This leaves out the class token, but that is the token that the head gets.",
            6,
        ),
        NOTHING_PASSES,
        TOO_MANY,
    ],
}
