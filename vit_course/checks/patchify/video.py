"""Exercise patchify.video: a video into patches that last several frames."""

import contextlib

from einops import rearrange

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.table import table
from vit_course.checks.tools.tensors import agree
from vit_course.checks.tools.usual import given


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
    mistakes = table(__name__, "mistakes", right)
    try:
        same_function(answer, right, draws, axes="(B, N, frames*P*P*C)", mistakes=mistakes)
    except Wrong as wrong:
        if wrong.mistake in ("raised-error", "wrong-values", "wrong-shape") and not _right_on(answer, draws[0]):
            _right_for_one_size(wrong, answer, draw)
        raise


def _right_on(answer, arguments) -> bool:
    with contextlib.suppress(LookupError):
        return agree(given(answer, *arguments), right(*arguments))
    return False


def _right_for_one_size(wrong: Wrong, answer, draw) -> None:
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


def right(video, frames, patch_size, pattern="b (t m) c (r i) (q j) -> b (t r q) (m i j c)"):
    """The right blocks, and by another pattern wrong ones."""
    return rearrange(video, pattern, m=frames, i=patch_size, j=patch_size)


def _square(video, frames, P):
    B, M, C, H, _ = video.shape
    x = video.reshape(B, M // frames, frames, C, H // P, P, H // P, P).permute(0, 1, 4, 6, 2, 5, 7, 3)
    return x.reshape(B, -1, frames * P * P * C)


def _bare(video, frames, patch_size):
    return video.reshape(len(video), -1, frames * patch_size**2 * video.shape[2])


def _one_frame(pick):
    return lambda video, frames, patch_size: right(pick(video.unflatten(1, (-1, frames))), 1, patch_size)
