"""Exercise patchify.pixel: where one pixel goes, and what smaller patches cost."""

import torch
import torch.nn.functional as F

from vit_course.attention import attention_weights
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import by_answer
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
            "times_the_pairs": pairs[1] // pairs[0],
            "times_the_products": patches.numel() // large.numel(),
        },
        parts,
        mistakes=by_answer(__name__, "by-hand", locals()),
        follows={"place_with_unfold": [("place", lambda place: place % 3 * side * side + place // 3)]},
    )
