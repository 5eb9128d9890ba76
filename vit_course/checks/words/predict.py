"""Exercise words.predict: losses of a batch, worked out by hand."""

import math

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, by_answer


def predict(answer, parts):
    """`answer()` -> {"start", "two", "twins", "pairs", "sigmoid_start", "logits"}."""
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND))


RIGHT = {
    "start": math.log(64),  # one of 64, all equally likely
    "two": math.log(1 + math.exp(-2)),  # logits 1 and -1
    "twins": math.log(2) / 2,  # two of the four pairs choose between two
    "pairs": 64 * 64,  # each image with each caption
    "sigmoid_start": math.log(1 + math.exp(10)) + 63 * math.log(1 + math.exp(-10)),
    "logits": 2**30,  # 32,768 squared
}

BY_HAND = {
    "start": [
        Mistake("own-caption-left-out", "The own caption is one of those to choose from.", math.log(63)),
        Mistake("probability-for-loss", "This is the probability of the own caption, not the loss.", 1 / 64),
        Mistake("base-two", "This is a logarithm to base 2 or 10.", 6.0, math.log10(64)),
        Mistake("directions-added", "The two directions are averaged, not added.", 2 * math.log(64)),
        Mistake("pairs-summed", "The loss is a mean over the pairs, not their sum.", 64 * math.log(64)),
    ],
    "two": [
        Mistake("cosines-from-zero", "This takes 0 for the smallest cosine.", math.log(1 + math.exp(-1))),
        Mistake("equal-cosines", "This is the loss where both cosines are equal.", math.log(2)),
        Mistake("no-floor", "With a scale of 1 the logits are bounded, and the loss cannot reach 0.", 0),
        Mistake(
            "probability-for-loss", "This is the probability of the own caption, not the loss.", 1 / (1 + math.exp(-2))
        ),
    ],
    "twins": [
        Mistake("all-are-twins", "This lets all four pairs choose between two.", math.log(2)),
        Mistake("one-twin", "Both of the two images have two captions to choose from.", math.log(2) / 4),
        Mistake("all-equal", "This lets each image choose among all four captions.", math.log(4)),
        Mistake("told-apart", "Nothing in two equal captions says which of two images it belongs to.", 0),
    ],
    "pairs": [
        Mistake("own-pairs-alone", "The pairs that do not belong together are judged too.", 64),
        Mistake("own-pairs-left-out", "The pairs that belong together are judged too.", 64 * 63),
        Mistake(
            "each-pair-once",
            "An image with the caption of another is another pair than the other way round.",
            32 * 63,
            32 * 65,
        ),
        Mistake("directions-counted", "The sigmoid judges a pair once: it has no two directions.", 2 * 64 * 64),
    ],
    "sigmoid_start": [
        Mistake(
            "without-bias",
            "This leaves out the bias: with cosines of 0 all logits would be 0.",
            64 * math.log(2),
            math.log(2),
        ),
        Mistake(
            "all-pairs-belong",
            "This takes all 64 pairs of an image for ones that belong together.",
            64 * math.log(1 + math.exp(10)),
        ),
        Mistake(
            "signs-exchanged",
            "The signs are exchanged: with a logit of -10, the own caption is what the sigmoid gets wrong.",
            math.log(1 + math.exp(-10)) + 63 * math.log(1 + math.exp(10)),
        ),
        Mistake(
            "divided-by-captions",
            "The sum over the captions of an image is not divided by their number.",
            (math.log(1 + math.exp(10)) + 63 * math.log(1 + math.exp(-10))) / 64,
        ),
    ],
    "logits": [
        Mistake("own-pairs-alone", "Every image is compared with every caption.", 2**15),
        Mistake("directions-counted", "Both directions read the same table of logits.", 2**31),
        Mistake(
            "each-pair-once",
            "The table is not symmetric: image 1 with caption 2 is another pair.",
            2**29,
            2**29 + 2**14,
            2**29 - 2**14,
        ),
    ],
}
