"""Exercise patchify.pixel: where one pixel goes, and what smaller patches cost."""

import torch
import torch.nn.functional as F

from vit_course.attention import attention_weights
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Slip, by_answer
from vit_course.patches import patchify as cut


def pixel(answer, parts):
    """`answer()` -> a dict of six counts: where a number of an image lands, and what smaller patches cost."""
    height, width, side, row, column, channel = 48, 72, 8, 19, 37, 2
    image = torch.zeros(1, 3, height, width)
    image[0, channel, row, column] = 1.0
    patches = cut(image, side)  # (B, N, P*P*C)
    unfolded = F.unfold(image, side, stride=side)  # (B, C*P*P, N)
    windows = F.conv2d(image, torch.ones(1, 3, 24, 24), stride=8, padding=8)  # (B, 1, H/P, W/P)
    large = cut(image, 24)
    pairs = [attention_weights(x, x).numel() for x in (large, patches)]
    rows, columns = height // side, width // side
    patch, place = (patches[0].nonzero()[0]).tolist()
    # The same number in its patch: row and column there.
    inner = (row % side, column % side)
    channel_first = unfolded[0].nonzero()[0, 0].item()
    same_answers(
        call(answer),
        {
            "patch": patch,
            "place": place,
            "place_with_unfold": channel_first,
            "tokens_changed": int(windows.count_nonzero()),
            "times_the_pairs": pairs[1] / pairs[0],
            "times_the_products": patches.numel() / large.numel(),
        },
        parts,
        mistakes=by_answer(
            BY_HAND,
            dict(
                pairs=pairs,
                inner=inner,
                channel_first=channel_first,
                width=width,
                side=side,
                row=row,
                column=column,
                channel=channel,
                rows=rows,
                columns=columns,
                patch=patch,
                place=place,
            ),
        ),
        follows={"place_with_unfold": [("place", lambda place: place % 3 * side * side + place // 3)]},
    )


BY_HAND = {
    "patch": [
        Slip("counted-from-one", "This counts from 1.", lambda patch: patch + 1),
        # 19 / 8 * 9 + 37 / 8 is the same number, as a float.
        Slip(
            "columns-first",
            "This counts the patches down the image, column by column, or the divisions were not rounded down.",
            lambda column, side, rows, row: column // side * rows + row // side,
        ),
        Slip(
            "rows-for-columns",
            "The number of patches in a row is taken to be the number of rows.",
            lambda row, side, rows, column: row // side * rows + column // side,
        ),
        Slip(
            "row-and-column-exchanged",
            "The row and the column of the pixel are swapped.",
            lambda column, side, columns, row: column // side * columns + row // side,
        ),
        Slip(
            "row-alone",
            "This is the row of patches; there are several patches in a row.",
            lambda row, side: row // side,
        ),
        Slip(
            "pixels-counted",
            "This counts the pixels before it, not the patches.",
            lambda row, width, column: row * width + column,
        ),
    ],
    "place": [
        Slip("counted-from-one", "This counts from 1.", lambda place: place + 1),
        Slip(
            "channel-left-out", "This is the place of channel 0 of the pixel.", lambda place, channel: place - channel
        ),
        Slip(
            "place-in-the-image",
            "This is the place in the whole image, not in the patch.",
            lambda row, width, column, channel: (row * width + column) * 3 + channel,
        ),
        Slip("channels-first", "This is the place if the channel comes first.", lambda channel_first: channel_first),
        Slip(
            "channels-forgotten",
            "This counts pixels; a pixel has several numbers.",
            lambda inner, side: inner[0] * side + inner[1],
        ),
        Slip(
            "pixels-transposed",
            "This is the place if the pixels run column by column.",
            lambda inner, side, channel: (inner[1] * side + inner[0]) * 3 + channel,
        ),
    ],
    "place_with_unfold": [
        Slip("counted-from-one", "This counts from 1.", lambda channel_first: channel_first + 1),
        Slip(
            "counted-from-one",
            "The channel is counted from 1 here.",
            lambda channel_first, side: channel_first + side * side,
        ),
        Slip(
            "channel-too-early",
            "This is the place in the previous channel.",
            lambda channel_first, side: channel_first - side * side,
        ),
        Slip("channels-last", "This is the place in the order that the course uses.", lambda place: place),
        Slip(
            "pixels-transposed",
            "This is the place if the pixels run column by column.",
            lambda channel, side, inner: channel * side * side + inner[1] * side + inner[0],
        ),
    ],
    "tokens_changed": [
        Slip("overlap-forgotten", "This would be right if the windows did not overlap.", 1),
        Slip("one-direction-only", "This counts the windows along one direction.", 3),
        Slip("windows-twice-the-step", "This would be right if the window were twice the step.", 4),
        Slip("corners-forgotten", "The diagonally adjacent windows reach the pixel too.", 5),
        Slip("directions-added", "The numbers for the two directions are added.", 6),
        Slip("all-tokens", "No window is as large as the image.", lambda rows, columns: rows * columns),
    ],
    "times_the_pairs": [
        Slip("side-only", "This is how much the side of a patch shrinks.", 3),
        Slip("patches-not-pairs", "This compares the numbers of patches; attention looks at pairs of them.", 9),
        Slip("ratio-upside-down", "The comparison is the wrong way round: this compares P = 24 with P = 8.", 1 / 81),
        Slip(
            "not-compared",
            "This is the number of pairs for P = 8 alone; it should be compared with the number for P = 24.",
            lambda pairs: pairs[1],
        ),
        Slip("wrong-power", "This grows with the third power of the side.", 27),
        Slip("factors-added", "Factors are added here although one acts on the result of the other.", 12),
    ],
    "times_the_products": [
        Slip("side-only", "This is how much the side of a patch shrinks.", 3),
        Slip("length-forgotten", "This compares the numbers of patches, as if each patch were still as long.", 9),
        Slip(
            "number-forgotten", "This compares the lengths of a patch, as if there were still as many patches.", 1 / 9
        ),
        Slip(
            "pairs-not-products",
            "This compares the numbers of pairs; the product with E takes the patches one by one.",
            81,
        ),
    ],
}
