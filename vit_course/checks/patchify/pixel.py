"""Exercise patchify.pixel: where one pixel goes, and what smaller patches cost."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, by_answer

# 48 x 72 pixels are 6 x 9 patches of side 8. The number is in row 2 and column 4 of the patches, and there in row 3,
# column 5 and channel 2. The ratios may be floats.
RIGHT = {
    "patch": 2 * 9 + 4,
    "place": (3 * 8 + 5) * 3 + 2,
    "place_with_unfold": 2 * 64 + 3 * 8 + 5,
    "tokens_changed": 3 * 3,
    "times_the_pairs": 81.0,
    "times_the_products": 1.0,
}


def pixel(answer, parts):
    """`answer()` -> a dict of six counts: where a number of an image lands, and what smaller patches cost."""
    same_answers(call(answer), RIGHT, parts, by_answer(MISTAKES), FOLLOWS)


FOLLOWS = {"place_with_unfold": [("place", lambda place: place % 3 * 64 + place // 3)]}

MISTAKES = {
    "patch": [
        Mistake("counted-from-one", "This counts from 1.", 2 * 9 + 4 + 1),
        # 19 / 8 * 9 + 37 / 8 is the same number, as a float.
        Mistake(
            "columns-first",
            "This counts the patches down the image, column by column, or the divisions were not rounded down.",
            4 * 6 + 2,
        ),
        Mistake("rows-for-columns", "The number of patches in a row is taken to be the number of rows.", 2 * 6 + 4),
    ],
    "place": [
        Mistake("counted-from-one", "This counts from 1.", (3 * 8 + 5) * 3 + 3),
        Mistake("channel-left-out", "This is the place of channel 0 of the pixel.", (3 * 8 + 5) * 3),
        Mistake(
            "place-in-the-image", "This is the place in the whole image, not in the patch.", (19 * 72 + 37) * 3 + 2
        ),
        Mistake("channels-first", "This is the place if the channel comes first.", 2 * 64 + 3 * 8 + 5),
        Mistake("channels-forgotten", "This counts pixels; a pixel has several numbers.", 3 * 8 + 5),
        Mistake("pixels-transposed", "This is the place if the pixels run column by column.", (5 * 8 + 3) * 3 + 2),
    ],
    "place_with_unfold": [
        Mistake("counted-from-one", "This counts from 1.", 2 * 64 + 3 * 8 + 5 + 1),
        Mistake("counted-from-one", "The channel is counted from 1 here.", 3 * 64 + 3 * 8 + 5),
        Mistake("channel-too-early", "This is the place in the previous channel.", 64 + 3 * 8 + 5),
        Mistake("pixels-transposed", "This is the place if the pixels run column by column.", 2 * 64 + 5 * 8 + 3),
    ],
    "tokens_changed": [
        Mistake("overlap-forgotten", "This would be right if the windows did not overlap.", 1),
        Mistake("one-direction-only", "This counts the windows along one direction.", 3),
        Mistake("windows-twice-the-step", "This would be right if the window were twice the step.", 4),
        Mistake("all-tokens", "No window is as large as the image.", 6 * 9),
    ],
    "times_the_pairs": [
        Mistake("side-only", "This is how much the side of a patch shrinks.", 3),
        Mistake("patches-not-pairs", "This compares the numbers of patches; attention looks at pairs of them.", 9),
        Mistake("ratio-upside-down", "The comparison is the wrong way round: this compares P = 24 with P = 8.", 1 / 81),
        Mistake(
            "not-compared",
            "This is the number of pairs for P = 8 alone; it should be compared with the number for P = 24.",
            54**2,
        ),
    ],
    "times_the_products": [
        Mistake("side-only", "This is how much the side of a patch shrinks.", 3),
        Mistake("length-forgotten", "This compares the numbers of patches, as if each patch were still as long.", 9),
        Mistake(
            "number-forgotten",
            "This compares the lengths of a patch, as if there were still as many patches.",
            1 / 9,
        ),
        Mistake(
            "pairs-not-products",
            "This compares the numbers of pairs; the product with E takes the patches one by one.",
            81,
        ),
    ],
}
