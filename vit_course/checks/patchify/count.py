"""Exercise patchify.count: how many patches an image has, in a function to be fixed."""

from vit_course.checks.report import NotAttempted, Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_values
from vit_course.checks.tools.table import refuse, table
from vit_course.checks.tools.words import describe

_REFUSED = object()  # in place of what came back, where a ValueError was raised


def count(answer, draw):
    """`answer(height, width, patch_size)` -> N, an int; a ValueError for a side that P does not divide."""
    # Also a square image, one of a single patch, one row of patches, and patches of one pixel.
    grids = [*(draw.sizes(3) for _ in range(3)), (4, 4, 3), (1, 1, 7), (1, 5, 6), (3, 2, 1)]
    fitting = [(rows * side, columns * side, side) for rows, columns, side in grids]
    unfit = _unfit(draw)
    refused = [_came(answer, sizes) is _REFUSED for sizes in fitting]
    if any(refused):
        all_pass = not any(_came(answer, sizes) is _REFUSED for sizes in unfit)
        refuse(__name__, "refused", locals(), [_given(fitting[refused.index(True)])])
    same_values(answer, _right, fitting, mistakes=table(__name__, "miscounts"))
    _refuses(answer, unfit)


def _right(height, width, patch_size):
    return (height // patch_size) * (width // patch_size)


def _unfit(draw) -> list[tuple[int, int, int]]:
    rows, columns, half = draw.sizes(3)
    side, little = 2 * half, draw.choose(range(1, half))
    H, W, much = rows * side, columns * side, side - little
    one_side = [(H + little, W, side), (H, W + much, side), (H + much, W + little, side)]
    whole_area = [(H + half, 2 * W, side), (2 * H, W + half, side), (4, 9, 6)]  # P * P divides it
    # Of these, P divides the sum of the sides.
    smaller_than_a_patch = [(H, little, side), (much, W, side), (little, much, side)]
    return [*one_side, *whole_area, *smaller_than_a_patch, (H + half, H + half, side), (H + little, W + much, side)]


def _came(answer, sizes: tuple[int, int, int]):
    # What came back, `_REFUSED`, or a `Wrong` that holds another error.
    try:
        return call(answer, *sizes)
    except NotAttempted:  # a NotImplementedError, maybe in the branch that refuses
        return Wrong("raised-error", "", ["NotImplementedError"])
    except Wrong as wrong:
        if not wrong.__cause__:
            raise
        return _REFUSED if isinstance(wrong.__cause__, ValueError) else wrong


def _refuses(answer, unfit) -> None:
    came = [_came(answer, sizes) for sizes in unfit]
    for one, sizes in zip(came, unfit, strict=True):
        if isinstance(one, Wrong):
            sentence = "An image that cannot be cut is refused, but not with the error that the exercise asks for."
            raise Wrong("another-error", sentence, [_given(sizes), *one.details])
    passes = [one is not _REFUSED for one in came]
    if not any(passes):
        return
    first = passes.index(True)
    details = [_given(unfit[first]), "Expected: a ValueError", f"Received: {describe(came[first])}"]
    for condition in table(__name__, "conditions"):
        if passes == [condition.function(*sizes) for sizes in unfit]:
            raise Wrong(condition.slug, condition.sentence, details)
    for slip in table(__name__, "quiet"):
        if all(type(one) in (int, float) for one in came) and came == [slip.function(*sizes) for sizes in unfit]:
            raise Wrong(slip.slug, slip.sentence, details)
    refuse(__name__, "passed", locals(), details)


def _given(sizes: tuple[int, int, int]) -> str:
    return "Input:    height = {}, width = {}, patch_size = {}".format(*sizes)
