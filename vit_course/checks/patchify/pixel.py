"""Exercise patchify.pixel: where one pixel goes, and what smaller patches cost."""

import torch
import torch.nn.functional as F

from vit_course.attention import attention_weights
from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.patches import patchify as cut


@exercise("1.3", "Where one pixel goes", section="Step 1: six axes", difficulty=1, minutes=8)
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
            "times_the_pairs": pairs[1] // pairs[0],
            "times_the_products": patches.numel() // large.numel(),
        },
        parts,
        mistakes={
            "patch": {
                patch + 1: ("counted-from-one", "This counts from 1."),
                (column // side) * rows + row // side: (
                    "columns-first",
                    "This counts the patches down the image, column by column.",
                ),
                (row // side) * rows + column // side: (
                    "rows-for-columns",
                    "A row of patches is taken to be as long as there are rows.",
                ),
                (column // side) * columns + row // side: (
                    "row-and-column-exchanged",
                    "The row of the pixel is taken for its column, and the column for its row.",
                ),
                row // side: ("row-alone", "This is the row of patches; there are several patches in a row."),
                row * width + column: ("pixels-counted", "This counts the pixels before it, not the patches."),
            },
            "place": {
                place + 1: ("counted-from-one", "This counts from 1."),
                place - channel: ("channel-left-out", "This is the place of channel 0 of the pixel."),
                (row * width + column) * 3 + channel: (
                    "place-in-the-image",
                    "This is the place in the whole image, and not in the patch.",
                ),
                channel_first: ("channels-first", "This is the place if the channel comes first."),
                inner[0] * side + inner[1]: ("channels-forgotten", "This counts pixels; a pixel has several numbers."),
                (inner[1] * side + inner[0]) * 3 + channel: (
                    "pixels-transposed",
                    "This is the place if the pixels run column by column.",
                ),
            },
            "place_with_unfold": {
                channel_first + 1: ("counted-from-one", "This counts from 1."),
                channel_first + side * side: ("counted-from-one", "The channel is counted from 1 here."),
                channel * side + inner[0] * side + inner[1]: (
                    "channel-taken-for-a-row",
                    "A channel is counted as if it were one row of the patch.",
                ),
                channel_first - side * side: ("channel-too-early", "This is the place of the channel before it."),
                place: ("channels-last", "This is the place in the course's own order."),
                channel * side * side + inner[1] * side + inner[0]: (
                    "pixels-transposed",
                    "This is the place if the pixels run column by column.",
                ),
            },
            "tokens_changed": {
                1: ("overlap-forgotten", "This would be right if the windows did not overlap."),
                3: ("one-direction-only", "This counts the windows along one direction."),
                4: ("windows-twice-the-step", "This would be right if the window were twice the step."),
                5: ("corners-forgotten", "The windows that lie diagonally beside its own reach the pixel too."),
                8: ("own-window-forgotten", "This counts the windows around its own, and not its own."),
                6: ("directions-added", "The numbers for the two directions are added."),
                rows * columns: ("all-tokens", "No window is as large as the image."),
            },
            "times_the_pairs": {
                3: ("side-only", "This is how much the side of a patch shrinks."),
                9: ("patches-not-pairs", "This is for the number of patches; attention looks at pairs of them."),
                1 / 81: ("ratio-upside-down", "This compares P = 24 with P = 8: it is how many times as few."),
                pairs[1]: (
                    "not-compared",
                    "These are the pairs for P = 8; those for P = 24 are to be compared with them.",
                ),
                27: ("wrong-power", "This grows with the third power of the side."),
                12: ("factors-added", "Factors are added here that act one upon the other."),
            },
            "times_the_products": {
                3: ("side-only", "This is how much the side of a patch shrinks."),
                9: ("length-forgotten", "This is for the number of patches, as if each were still as long."),
                1 / 9: ("number-forgotten", "This is for the length of a patch, as if there were still as many."),
                81: ("pairs-not-products", "This is for the pairs; the product with E takes the patches one by one."),
            },
        },
        follows={"place_with_unfold": [("place", lambda place: place % 3 * side * side + place // 3)]},
    )
