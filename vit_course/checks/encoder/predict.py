"""Exercise encoder.predict: predictions of what a change to the block does."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, by_answer


def predict(answer, parts):
    """`answer()` -> {"equal_numbers", "pre_norm_plus_5", "post_norm_plus_5", "pre_norm_times_10", ...}."""
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND))


RIGHT = {
    "equal_numbers": "zeros",  # 7 minus the mean of 7, divided by a spread of 0 and the epsilon
    "pre_norm_plus_5": "plus 5",  # the norms take the 5 away, the stream carries it on
    "post_norm_plus_5": "other",  # the attention reads x + 5, and the last norm takes a mean away
    "pre_norm_times_10": "other",  # the stream grows, and what is added to it does not
    "silent_without_residuals": "zeros",  # nothing is left to add to
    "tokens_moved": 1,  # where attention is silent no token meets another
    "survivor": 2.5,  # 1 / (1 - 0.6)
}

BY_HAND = {
    "equal_numbers": [
        Mistake("norm-gives-ones", "This is what a number divided by itself gives; look at what is divided.", "ones"),
        Mistake("norm-lets-mean-through", "This keeps a mean that the norm takes away.", "sevens"),
        Mistake("epsilon-forgotten", "This divides by a spread of 0 and leaves out the term next to it.", "nan"),
    ],
    "pre_norm_plus_5": [
        Mistake("stream-forgotten", "This would mean that the stream does not keep what was added to it.", "same"),
        Mistake(
            "branch-sees-the-mean", "This would mean that the branches no longer add what they added before.", "other"
        ),
    ],
    "post_norm_plus_5": [
        Mistake(
            "branch-input-forgotten",
            "This would mean that the attention adds what it added before: what is its input?",
            "same",
        ),
        Mistake("norm-lets-mean-through", "This would mean that a mean passes through the norm at the end.", "plus 5"),
    ],
    "pre_norm_times_10": [
        Mistake(
            "stream-forgotten",
            "This would mean that the stream does not keep the factor that it was multiplied by.",
            "same",
        ),
        Mistake("branch-sees-the-length", "This would mean that the branches also add 10 times as much.", "times 10"),
    ],
    "silent_without_residuals": [
        Mistake("residual-still-there", "This sends the tokens along a path that was removed.", "same"),
        Mistake("silent-branch-speaks", "This lets a branch whose output is 0 add something.", "other"),
    ],
    "tokens_moved": [
        Mistake("tokens-meet", "This lets tokens meet although the branch in which they meet is silent.", 7),
        Mistake("nothing-moves", "This says that even the changed token comes out unchanged.", 0),
        Mistake("one-for-each-block", "This counts one token for each block.", 2),
        Mistake("some-tokens-meet", "This lets a few tokens meet: where they do meet, all seven do.", range(3, 6)),
    ],
    "survivor": [
        Mistake("survivors-unchanged", "This leaves the rest unchanged, so the mean would shrink.", 1.0),
        Mistake("survivors-multiplied", "This makes the rest smaller, so the mean would shrink twice.", 0.4),
        Mistake("divided-by-p", "This divides by the share that is dropped.", 1 / 0.6),
        Mistake("all-dropped", "This is a number that was dropped.", 0.0),
        Mistake("share-dropped", "This is the share that is dropped.", 0.6),
        Mistake("one-plus-p", "This is 1 + p, which keeps the mean only where p is 0.", 1.6),
    ],
}
