"""Exercise further.wide: how many parameters five parts add, and how wide an MLP is then."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, by_answer


def wide(answer, parts):
    """`answer()` -> {"swiglu", "table", "units", "qk_norm", "layer_scale"}, whole numbers, of ViT-S/16."""
    same_answers(call(answer), RIGHT, parts, by_answer(MISTAKES))


RIGHT = {
    "swiglu": 1024,  # 1,181,184 / 1,154 = 1,023.6
    "table": 75_648,  # 197 rows of 384
    "units": 8,  # 75,648 / (12 * 769) = 8.2
    "qk_norm": 1536,  # 2 norms of 64 in each of 12 layers
    "layer_scale": 9216,  # 2 branches of 384 in each of 12 layers
}

MISTAKES = {
    "swiglu": [
        Mistake("width-kept", "At the same width SwiGLU has half as many parameters again.", 1536),
        Mistake(
            "halved", "At half the width SwiGLU has fewer parameters than the MLP: it does not have four matrices.", 768
        ),
        Mistake("ratio-inverted", "The ratio is upside down: a third matrix makes SwiGLU larger, not smaller.", 2304),
        Mistake("cut-off", "This is cut off, not rounded to the nearest whole number.", 1023),
        Mistake(
            "biases-of-one-alone",
            "The biases are counted in one of the two modules only, or not all of them.",
            1022,
            1025,
            1026,
        ),
        Mistake("not-rounded", "This is not yet rounded to a whole number.", 1_181_184 / 1_154),
    ],
    "table": [
        Mistake("class-row-forgotten", "The patches all have a row; one more token has one.", 75_264),
        Mistake("rows-not-numbers", "This counts the rows of the table; each row has many numbers.", 197, 196),
        Mistake("width-of-a-head", "The rows are as long as a token, not as a head is wide.", 197 * 64, 196 * 64),
        Mistake(
            "patch-vectors",
            "A row is as long as a token in the model, not as a patch has numbers.",
            197 * 768,
            196 * 768,
        ),
    ],
    "units": [
        Mistake("one-mlp-alone", "This gives everything to a single MLP; there is one in every layer.", 98, 97),
        Mistake("one-matrix-alone", "A unit has numbers in both matrices of the MLP.", 16, 197, 196),
        Mistake("unit-of-swiglu", "This is the price of a unit of SwiGLU; the MLP here has two matrices.", 5),
        Mistake("rounded-up", "Rounded up, the model would be larger than before.", 9),
        Mistake(
            "not-rounded",
            "A unit is there or not: the number was to be rounded down.",
            75_648 / 12 / 769,
            75_648 / 12 / 768,
        ),
    ],
    "qk_norm": [
        Mistake("one-norm-alone", "Queries have a norm, and keys have one too.", 768),
        Mistake("one-layer-alone", "This is one layer; there are twelve.", 128, 64),
        Mistake(
            "shift-counted", "This counts a shift as well; QK-norm in this chapter has a scale and no shift.", 3072, 256
        ),
        Mistake(
            "norm-for-each-head",
            "This has numbers for each head, or a norm over all heads; in this chapter the heads share one norm.",
            9216,
            18_432,
            4608,
            36_864,
        ),
    ],
    "layer_scale": [
        Mistake("one-branch-alone", "This is one branch; both branches have a scale.", 4608),
        Mistake("one-layer-alone", "This is one layer; there are twelve.", 768, 384),
        Mistake("one-number-a-branch", "A scale has one number per channel, not one number.", 24, 12),
        Mistake(
            "width-of-the-mlp",
            "What the MLP adds to a token is as long as the token, not as the MLP is wide inside.",
            12 * (384 + 1536),
            2 * 12 * 1536,
        ),
        Mistake(
            "width-of-a-head",
            "What attention adds to a token is as long as the token, not as a head is wide.",
            1536,
            12 * (64 + 384),
        ),
    ],
}
