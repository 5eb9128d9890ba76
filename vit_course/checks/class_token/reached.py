"""Exercise class_token.reached: predictions of which tokens the loss reaches."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Slip, by_answer


def reached(answer, parts):
    """`answer()` -> {"one_patch_in", "patch_mean_out", "patch_mean_in", ...}: numbers of tokens reached."""
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND))


# Exercise class_token.reached: predictions of which tokens the loss reaches.
RIGHT = {
    "one_patch_in": 7,  # attention leads to every token
    "patch_mean_out": 6,  # the class token is not read
    "patch_mean_in": 7,  # attention leads to every token
    "all_off_patch_mean_in": 6,  # each patch reaches itself alone
    "last_off_between": 1,  # the class token alone, after the last exchange
    "last_off_in": 7,  # by the two exchanges before
}

BY_HAND = {
    "one_patch_in": [
        Slip("only-what-is-read", "This counts what is read, not where it comes from.", 1),
        Slip("two-tokens-only", "This counts the token that is read and the class token.", 2),
        Slip("class-token-left-out", "This leaves out the class token.", 6),
        Slip("more-than-there-are", "There are only seven tokens, including the class token.", range(8, 1000)),
    ],
    "patch_mean_out": [
        Slip("unread-token-counted", "This counts a token that comes out but is not read.", 7),
        Slip("mean-as-one-token", "This treats the mean as one token, but it is made from several.", 1),
        Slip("more-than-there-are", "There are only seven tokens, including the class token.", range(8, 1000)),
    ],
    "patch_mean_in": [
        Slip("only-what-is-read", "This counts the kind of token that is read, not where it comes from.", 6),
        Slip("mean-as-one-token", "This treats the mean as one token, but it is made from several.", 1),
        Slip("more-than-there-are", "There are only seven tokens, including the class token.", range(8, 1000)),
    ],
    "all_off_patch_mean_in": [
        Slip("way-through-closed-block", "This counts a path through blocks whose exchange is switched off.", 7),
        Slip("direct-way-forgotten", "This says that a token does not even reach itself.", 0),
        Slip("mean-as-one-token", "This treats the mean as one token, but it is made from several.", 1),
        Slip("more-than-there-are", "There are only seven tokens, including the class token.", range(8, 1000)),
    ],
    "last_off_between": [
        Slip("way-through-closed-block", "This counts a path through a block whose exchange is switched off.", 7),
        Slip("patches-for-class-token", "These are the tokens that are not read.", 6),
        Slip("direct-way-forgotten", "This says that a token does not even reach itself.", 0),
        Slip("more-than-there-are", "There are only seven tokens, including the class token.", range(8, 1000)),
    ],
    "last_off_in": [
        Slip("one-block-cuts-all", "This lets one block undo the exchange of the two before it.", 1),
        Slip("class-token-left-out", "This leaves out the class token.", 6),
        Slip("direct-way-forgotten", "This says that a token does not even reach itself.", 0),
        Slip("more-than-there-are", "There are only seven tokens, including the class token.", range(8, 1000)),
    ],
}
