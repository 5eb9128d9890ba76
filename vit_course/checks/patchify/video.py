"""Exercise patchify.video: a video into patches that last several frames."""

from collections.abc import Iterator
from functools import partial
from itertools import permutations

import torch
from einops import rearrange

from vit_course.checks.tools.common import right_at
from vit_course.checks.tools.functions import keeps_dtype, same_function
from vit_course.checks.tools.mistakes import Mistake


def video(answer, draw):
    """`answer(video, frames, patch_size)`: (B, M, C, H, W) -> (B, N, frames*P*P*C), blocks in reading order."""
    draws = []
    for batch, channels in ((3, 2), (2, 4)):  # small: an answer with a loop over every number must end too
        (rows, columns, side, frames), times = draw.sizes(4, 2, 5), draw.choose([2, 3])
        draws.append((draw.normal(batch, times * frames, channels, rows * side, columns * side), frames, side))
    # One block in each video, and blocks of one number.
    draws.append((draw.normal(3, 2, 1, 4, 4), 2, 4))
    draws.append((draw.normal(2, 3, 1, 2, 5), 1, 1))
    colour = [(draw.normal(*video.shape[:2], 3, *video.shape[3:]), frames, side) for video, frames, side in draws[:2]]
    square = [(draw.normal(*video.shape[:4], video.shape[3]), frames, side) for video, frames, side in draws[:2]]
    right_for_usual = [
        ("three-channels-only", "Correct for 3 channels, but not for other numbers of channels.", colour),
        ("square-assumed", "Correct only for square frames.", square),
    ]
    mistakes = [*MISTAKES, *_other_orders(), *(right_at(answer, right, draws, *one) for one in right_for_usual)]
    same_function(answer, right, draws, axes="(B, N, frames*P*P*C)", mistakes=mistakes)
    keeps_dtype(answer, draws[0], torch.uint8, torch.float64)


def right(video, frames, patch_size, pattern="b (t m) c (r i) (q j) -> b (t r q) (m i j c)"):
    """The right blocks, and by another pattern wrong ones."""
    return rearrange(video, pattern, m=frames, i=patch_size, j=patch_size)


def _other_orders() -> Iterator[Mistake]:
    # Taught: the text gives both orders. These have no name in the table.
    blocks, inside = dict(t="time", r="row", q="column"), dict(m="frame", i="row", j="column", c="channel")
    for slug, what, axes, pattern in (
        ("blocks-in-another-order", "The blocks run", blocks, "b (t m) c (r i) (q j) -> b ({}) (m i j c)"),
        ("block-in-another-order", "A block is read", inside, "b (t m) c (r i) (q j) -> b (t r q) ({})"),
    ):
        for order in list(permutations(axes))[1:]:
            sentence = f"{what} in the order {', '.join(axes[axis] for axis in order)}, the last one fastest."
            yield Mistake(slug, sentence, partial(right, pattern=pattern.format(" ".join(order))))


def _bare(video, frames, patch_size):
    return video.reshape(len(video), -1, frames * patch_size**2 * video.shape[2])


MISTAKES = [
    Mistake(
        "bare-reshape",
        "The blocks are made by a reshape alone, so each holds a stretch of rows, not a block.",
        _bare,
        lambda video, frames, side: video.movedim(2, -1).reshape(len(video), -1, frames * side * side * video.shape[2]),
    ),
    Mistake(
        "frames-apart",
        "Each frame is cut separately, and consecutive patches of a frame are joined into a block.",
        lambda video, frames, side: right(video, 1, side).reshape(*_bare(video, frames, side).shape),
    ),
    Mistake(
        "axes-not-joined",
        "The eight axes are in the right order, but they are not yet joined into three.",
        {"pattern": "b (t m) c (r i) (q j) -> b t r q m i j c"},
    ),
    Mistake(
        "time-inside-out",
        "The index of a block in time and that of a frame inside it are swapped, so its frames are not consecutive.",
        {"pattern": "b (m t) c (r i) (q j) -> b (t r q) (m i j c)"},
    ),
    Mistake(
        "split-swapped",
        "Height or width is split the wrong way round: neighbours in a block are not neighbours in the frame.",
        {"pattern": "b (t m) c (i r) (j q) -> b (t r q) (m i j c)"},
        {"pattern": "b (t m) c (i r) (q j) -> b (t r q) (m i j c)"},
        {"pattern": "b (t m) c (r i) (j q) -> b (t r q) (m i j c)"},
    ),
    Mistake(
        "time-last",
        "From block to block, time changes fastest; the column should.",
        {"pattern": "b (t m) c (r i) (q j) -> b (r q t) (m i j c)"},
    ),
    Mistake(
        "columns-first",
        "The blocks run down the columns of the frame first.",
        {"pattern": "b (t m) c (r i) (q j) -> b (t q r) (m i j c)"},
    ),
    Mistake(
        "channels-first",
        "Inside a block, the channel comes before the pixels.",
        {"pattern": "b (t m) c (r i) (q j) -> b (t r q) (m c i j)"},
        {"pattern": "b (t m) c (r i) (q j) -> b (t r q) (c m i j)"},
    ),
    Mistake(
        "frame-last",
        "Inside a block, the frame changes faster than the pixel.",
        {"pattern": "b (t m) c (r i) (q j) -> b (t r q) (i j m c)"},
        {"pattern": "b (t m) c (r i) (q j) -> b (t r q) (i j c m)"},
    ),
    Mistake(
        "pixels-transposed",
        "The pixels inside a block run column by column.",
        {"pattern": "b (t m) c (r i) (q j) -> b (t r q) (m j i c)"},
    ),
    Mistake(
        "frames-apart",
        "Each frame is cut separately, so a block covers only one frame.",
        {"pattern": "b (t m) c (r i) (q j) -> b (t m r q) (i j c)"},
        {"pattern": "b (t m) c (r i) (q j) -> b (t m) (r q) (i j c)"},
    ),
    Mistake(
        "grid-kept",
        "The blocks are still on two or three axes.",
        {"pattern": "b (t m) c (r i) (q j) -> b t r q (m i j c)"},
        {"pattern": "b (t m) c (r i) (q j) -> b t (r q) (m i j c)"},
    ),
    Mistake(
        "blocks-last",
        "The blocks are on the last axis, where the numbers of a block should be.",
        {"pattern": "b (t m) c (r i) (q j) -> b (m i j c) (t r q)"},
    ),
    Mistake(
        "videos-joined",
        "The blocks of all videos follow one another, as if they came from one video.",
        {"pattern": "b (t m) c (r i) (q j) -> (b t r q) (m i j c)"},
        {"pattern": "b (t m) c (r i) (q j) -> 1 (b t r q) (m i j c)"},
    ),
    Mistake(
        "first-frames-only",
        "Only the first `frames` frames are cut; the later ones are lost.",
        lambda video, frames, side: right(video[:, :frames], frames, side),
    ),
    Mistake(
        "windows-overlap-in-time",
        "A block begins at every frame, so blocks share frames.",
        lambda video, frames, side: right(video.unfold(1, frames, 1).movedim(-1, 2).flatten(1, 2), frames, side),
    ),
]
