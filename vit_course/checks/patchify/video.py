"""Exercise patchify.video: a video into patches that last several frames."""

import contextlib

from einops import rearrange

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.functions import Mistake, one_mistake, same_function
from vit_course.checks.tools.tensors import agree
from vit_course.checks.tools.usual import given, usual_slips

RIGHT = "b (t m) c (r i) (q j) -> b (t r q) (m i j c)"


@exercise("1.2", "Cut a video", section="Step 1: six axes", difficulty=2, minutes=10)
def video(answer, draw):
    """`answer(video, frames, patch_size)`: (B, M, C, H, W) -> (B, N, frames*P*P*C), blocks in reading order."""
    draws = []
    for _ in range(2):  # small: an answer with a loop over every number must end too
        batch, channels = draw.sizes(2, 2, 3)
        (rows, columns, side, frames), times = draw.sizes(4, 2, 5), draw.choose([2, 3])
        draws.append((draw.normal(batch, times * frames, channels, rows * side, columns * side), frames, side))
    # One block in each video, and blocks of one number.
    draws.append((draw.normal(3, 2, 1, 4, 4), 2, 4))
    draws.append((draw.normal(2, 3, 1, 2, 5), 1, 1))

    def right(video, frames, patch_size):
        return rearrange(video, RIGHT, m=frames, i=patch_size, j=patch_size)

    mistakes = [*_mistakes(right), *usual_slips(answer, right, draws, "video")]
    try:
        same_function(answer, right, draws, axes="(B, N, frames*P*P*C)", mistakes=mistakes)
    except Wrong as wrong:
        if wrong.mistake in ("raised-error", "wrong-values", "wrong-shape") and not _right_on(answer, right, draws[0]):
            _right_for_one_size(wrong, answer, right, draw)
        raise


def _right_on(answer, right, arguments) -> bool:
    with contextlib.suppress(LookupError):
        return agree(given(answer, *arguments), right(*arguments))
    return False


def _right_for_one_size(wrong: Wrong, answer, right, draw) -> None:
    # What other sizes, or other axes, say about an error or about numbers that no slip explains.
    three, two, other = draw.normal(2, 4, 3, 6, 4), draw.normal(2, 6, 4, 10, 5), draw.normal(2, 6, 4, 9, 6)
    for slug, sentence, expected, arguments in (
        ("three-channels-only", "Right for 3 channels, and not for other numbers of them.", three, (three, 4, 2)),
        ("two-frames-only", "Right for blocks of 2 frames, and not of other numbers.", two, (two, 2, 5)),
        (
            "axes-misread",
            "The second axis is taken for the channels and the third for the frames, and it is the other way round.",
            other,
            (other.transpose(1, 2), 2, 3),
        ),
    ):
        with contextlib.suppress(LookupError):
            if agree(given(answer, *arguments), right(expected, *arguments[1:])):
                raise Wrong(slug, sentence, wrong.details)


def _mistakes(right) -> list[Mistake]:
    def cut(pattern):
        return lambda video, frames, patch_size: rearrange(video, pattern, m=frames, i=patch_size, j=patch_size)

    def bare(video, frames, patch_size):
        return video.reshape(len(video), -1, frames * patch_size**2 * video.shape[2])

    def one_frame(pick):
        return lambda video, frames, patch_size: right(pick(video.unflatten(1, (-1, frames))), 1, patch_size)

    return [
        *one_mistake(
            "bare-reshape",
            "The blocks are made by a reshape alone: each holds a stretch of rows, not a block.",
            bare,
            lambda video, frames, P: video.movedim(2, -1).reshape(len(video), -1, frames * P * P * video.shape[2]),
        ),
        Mistake(
            "frames-apart",
            "Each frame is cut by itself, and patches that follow each other in it are joined to a block.",
            lambda video, frames, side: right(video, 1, side).reshape(*bare(video, frames, side).shape),
        ),
        Mistake(
            "axes-not-joined",
            "The eight axes are in the right order, and they are not yet joined to three.",
            cut("b (t m) c (r i) (q j) -> b t r q m i j c"),
        ),
        *(Mistake(slug, sentence, cut(pattern)) for slug, sentence, patterns in _ORDERS for pattern in patterns),
        *one_mistake(
            "one-frame-of-each-block",
            "Of the frames of a block, one alone or their mean is left.",
            one_frame(lambda x: x[:, :, 0]),
            one_frame(lambda x: x[:, :, -1]),
            one_frame(lambda x: x.mean(2)),
        ),
        Mistake(
            "first-frames-only",
            "Only the first `frames` frames are cut; the later ones are lost.",
            lambda video, frames, patch_size: right(video[:, :frames], frames, patch_size),
        ),
        Mistake(
            "arguments-exchanged",
            "The number of frames and the side of a patch have changed places.",
            lambda video, frames, patch_size: right(video, patch_size, frames),
        ),
        Mistake("square-assumed", "The height is used for both sides, as if every frame were square.", _square),
        Mistake(
            "frames-backwards",
            "Inside a block the frames run backwards.",
            lambda video, frames, side: right(video.unflatten(1, (-1, frames)).flip(2).flatten(1, 2), frames, side),
        ),
        Mistake(
            "windows-overlap-in-time",
            "A block begins at every frame, so that blocks share frames.",
            lambda video, frames, side: right(video.unfold(1, frames, 1).movedim(-1, 2).flatten(1, 2), frames, side),
        ),
    ]


def _square(video, frames, P):
    B, M, C, H, _ = video.shape
    x = video.reshape(B, M // frames, frames, C, H // P, P, H // P, P).permute(0, 1, 4, 6, 2, 5, 7, 3)
    return x.reshape(B, -1, frames * P * P * C)


_IN_A_BLOCK = "b (t m) c (r i) (q j) -> b (t r q) "
_OF_BLOCKS = "b (t m) c (r i) (q j) -> b {} (m i j c)"
# What the order is in the wrong answer: (slug, sentence, patterns).
_ORDERS = (
    (
        "strips",
        "The rows inside a block are not kept apart from the columns of blocks: a block holds strips from the full "
        "width of the frames.",
        ["b (t m) c (r i) (q j) -> b (t r m) (i q j c)", "b (t m) c (r i) (q j) -> b (t r i) (m q j c)"],
    ),
    (
        "time-inside-out",
        "Which block in time and which frame inside it have changed places: a block holds frames that do not follow "
        "each other.",
        ["b (m t) c (r i) (q j) -> b (t r q) (m i j c)"],
    ),
    (
        "split-swapped",
        "The height, the width or both are split the wrong way round: neighbours in a block are none in the frame.",
        [
            "b (t m) c (i r) (j q) -> b (t r q) (m i j c)",
            "b (t m) c (i r) (q j) -> b (t r q) (m i j c)",
            "b (t m) c (r i) (j q) -> b (t r q) (m i j c)",
        ],
    ),
    (
        "all-splits-swapped",
        "Time, height and width are all split the wrong way round: what is in a block does not lie side by side.",
        ["b (m t) c (i r) (j q) -> b (t r q) (m i j c)"],
    ),
    (
        "time-last",
        "Time runs fastest from block to block, where the columns should.",
        [_OF_BLOCKS.format("(r q t)"), _OF_BLOCKS.format("(q r t)")],
    ),
    (
        "time-in-the-middle",
        "The blocks run along a row before time moves on, but not over the whole frame: the next row comes too late.",
        [_OF_BLOCKS.format("(r t q)"), _OF_BLOCKS.format("(q t r)")],
    ),
    ("columns-first", "The blocks run down the frame first.", [_OF_BLOCKS.format("(t q r)")]),
    (
        "columns-first-everywhere",
        "Columns come before rows, both from block to block and inside a block.",
        ["b (t m) c (r i) (q j) -> b (t q r) (m j i c)"],
    ),
    (
        "channels-first",
        "Inside a block the channel comes before the pixels.",
        [_IN_A_BLOCK + "(m c i j)", _IN_A_BLOCK + "(c m i j)"],
    ),
    (
        "channels-first-frame-last",
        "Inside a block the channel comes before the pixels, and the frame after them.",
        [_IN_A_BLOCK + "(c i j m)"],
    ),
    (
        "channel-between",
        "Inside a block the channel stands between the row and the column.",
        [_IN_A_BLOCK + "(m i c j)", _IN_A_BLOCK + "(i c m j)"],
    ),
    (
        "frame-last",
        "Inside a block the frame changes faster than the pixel.",
        [_IN_A_BLOCK + "(i j m c)", _IN_A_BLOCK + "(i j c m)"],
    ),
    (
        "frame-between",
        "Inside a block the frame stands between the row and the column.",
        [_IN_A_BLOCK + "(i m j c)"],
    ),
    (
        "pixels-transposed",
        "The pixels inside a block run column by column.",
        [_IN_A_BLOCK + "(m j i c)", _IN_A_BLOCK + "(m j c i)"],
    ),
    (
        "pixels-transposed-and-more",
        "Inside a block the pixels run column by column, and the frame or the channel is not at its place either.",
        [_IN_A_BLOCK + order for order in ("(m c j i)", "(c m j i)", "(j i m c)", "(j i c m)", "(j m i c)")],
    ),
    (
        "frames-apart",
        "Each frame is cut by itself, so a block lasts one frame.",
        [
            "b (t m) c (r i) (q j) -> b (t m r q) (i j c)",
            "b (t m) c (r i) (q j) -> b (t r q m) (i j c)",
            "b (t m) c (r i) (q j) -> b (t m) (r q) (i j c)",
        ],
    ),
    (
        "grid-kept",
        "The blocks still lie on two or three axes.",
        [_OF_BLOCKS.format(axes) for axes in ("t r q", "t (r q)", "(t r) q")],
    ),
    (
        "block-not-flattened",
        "The numbers of a block still lie on several axes.",
        [_IN_A_BLOCK + order for order in ("m i j c", "m (i j c)", "(m i j) c", "m (i j) c")],
    ),
    (
        "blocks-last",
        "The blocks lie on the last axis, where the numbers of a block should lie.",
        ["b (t m) c (r i) (q j) -> b (m i j c) (t r q)"],
    ),
    (
        "videos-joined",
        "The blocks of all videos lie one after the other, as if they were of one.",
        ["b (t m) c (r i) (q j) -> (b t r q) (m i j c)", "b (t m) c (r i) (q j) -> 1 (b t r q) (m i j c)"],
    ),
)
