"""Exercise patchify.video: a video into patches that last several frames."""

from einops import rearrange

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, same_function

RIGHT = "b (t m) c (r i) (q j) -> b (t r q) (m i j c)"


@exercise("Cut a video", section="Step 1: six axes", difficulty=2, minutes=10)
def video(answer, draw):
    """`answer(video, frames, patch_size)`: (B, M, C, H, W) -> (B, N, frames*P*P*C), blocks in reading order."""
    draws = []
    for _ in range(2):
        batch, channels, rows, columns, side, frames, times = draw.sizes(7, 2, 9)
        draws.append((draw.normal(batch, times * frames, channels, rows * side, columns * side), frames, side))

    def cut(pattern):
        return lambda video, frames, patch_size: rearrange(video, pattern, m=frames, i=patch_size, j=patch_size)

    def bare(video, frames, patch_size):
        return video.reshape(len(video), -1, frames * patch_size**2 * video.shape[2])

    transposed = "The pixels inside a block run column by column."
    mistakes = [
        Mistake("bare-reshape", "One reshape makes the blocks: each holds a stretch of rows, not a block.", bare),
        *(
            Mistake(slug, sentence, cut(pattern))
            for slug, sentence, pattern in (
                (
                    "strips",
                    "The rows inside a block are not kept apart from the columns of blocks: a block holds strips from "
                    "the full width of the frames.",
                    "b (t m) c (r i) (q j) -> b (t r m) (i q j c)",
                ),
                (
                    "time-inside-out",
                    "Which block in time and which frame inside it have changed places: a block holds frames that do "
                    "not follow each other.",
                    "b (m t) c (r i) (q j) -> b (t r q) (m i j c)",
                ),
                (
                    "split-swapped",
                    "Height and width are split the wrong way round: neighbours in a block are none in the frame.",
                    "b (t m) c (i r) (j q) -> b (t r q) (m i j c)",
                ),
                (
                    "time-last",
                    "Time runs fastest from block to block, where the columns should.",
                    "b (t m) c (r i) (q j) -> b (r q t) (m i j c)",
                ),
                (
                    "columns-first",
                    "The blocks run down the frame first.",
                    "b (t m) c (r i) (q j) -> b (t q r) (m i j c)",
                ),
                (
                    "frame-last",
                    "Inside a block the frame changes faster than the pixel.",
                    "b (t m) c (r i) (q j) -> b (t r q) (i j m c)",
                ),
                (
                    "frame-last",
                    "Inside a block the frame changes faster than the pixel.",
                    "b (t m) c (r i) (q j) -> b (t r q) (i j c m)",
                ),
                (
                    "channels-first",
                    "Inside a block the channel comes before the pixels.",
                    "b (t m) c (r i) (q j) -> b (t r q) (m c i j)",
                ),
                (
                    "channels-first",
                    "Inside a block the channel comes before the pixels.",
                    "b (t m) c (r i) (q j) -> b (t r q) (c m i j)",
                ),
                ("pixels-transposed", transposed, "b (t m) c (r i) (q j) -> b (t r q) (m j i c)"),
                (
                    "frames-apart",
                    "Each frame is cut by itself, so a block lasts one frame.",
                    "b (t m) c (r i) (q j) -> b (t m r q) (i j c)",
                ),
                ("grid-kept", "The blocks still lie on three axes.", "b (t m) c (r i) (q j) -> b t r q (m i j c)"),
                (
                    "blocks-last",
                    "The blocks lie on the last axis, where the numbers of a block should lie.",
                    "b (t m) c (r i) (q j) -> b (m i j c) (t r q)",
                ),
            )
        ),
    ]
    same_function(answer, cut(RIGHT), draws, axes="(B, N, frames*P*P*C)", mistakes=mistakes)
