"""Exercise patchify.video: a video into patches that last several frames."""

from collections.abc import Iterator
from functools import partial
from itertools import permutations

from einops import rearrange

from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.checks.tools.table import table
from vit_course.checks.tools.usual import right_at


def video(answer, draw):
    """`answer(video, frames, patch_size)`: (B, M, C, H, W) -> (B, N, frames*P*P*C), blocks in reading order."""
    draws = []
    for batch, channels in ((3, 2), (2, 4)):  # small: an answer with a loop over every number must end too
        (rows, columns, side, frames), times = draw.sizes(4, 2, 5), draw.choose([2, 3])
        draws.append((draw.normal(batch, times * frames, channels, rows * side, columns * side), frames, side))
    # One block in each video, and blocks of one number.
    draws.append((draw.normal(3, 2, 1, 4, 4), 2, 4))
    draws.append((draw.normal(2, 3, 1, 2, 5), 1, 1))
    mistakes = [*table(__name__, "mistakes", right), *_orders()]
    colour = [(draw.normal(*video.shape[:2], 3, *video.shape[3:]), frames, side) for video, frames, side in draws[:2]]
    square = [(draw.normal(*video.shape[:4], video.shape[3]), frames, side) for video, frames, side in draws[:2]]
    for slug, sentence, usual in (
        ("three-channels-only", "Correct for 3 channels, but not for other numbers of channels.", colour),
        ("square-assumed", "Correct only for square frames.", square),
    ):
        mistakes.append(right_at(answer, right, draws, slug, sentence, usual))
    same_function(answer, right, draws, axes="(B, N, frames*P*P*C)", mistakes=mistakes)


def right(video, frames, patch_size, pattern="b (t m) c (r i) (q j) -> b (t r q) (m i j c)"):
    """The right blocks, and by another pattern wrong ones."""
    return rearrange(video, pattern, m=frames, i=patch_size, j=patch_size)


def _orders() -> Iterator[Mistake]:
    # Those that have no name in the table.
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
