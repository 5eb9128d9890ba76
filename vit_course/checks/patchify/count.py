"""Exercise patchify.count: how many patches an image has, in a function to be fixed."""

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import Mistake, same_values
from vit_course.checks.tools.words import describe


@exercise("Fix the patch counter", section="First by hand", difficulty=2, minutes=7)
def count(answer, draw):
    """`answer(height, width, patch_size)` -> N, an int; a ValueError for a side that P does not divide."""
    sizes = [draw.sizes(3) for _ in range(3)]
    fitting = [(rows * side, columns * side, side) for rows, columns, side in sizes]
    for arguments in fitting:
        _not_refused(answer, arguments)
    same_values(
        answer,
        lambda height, width, patch_size: (height // patch_size) * (width // patch_size),
        fitting,
        mistakes=[
            Mistake(
                "one-side-only",
                "Patches are counted along one side only.",
                lambda height, width, side: height // side,
            ),
            Mistake(
                "one-side-only",
                "Patches are counted along one side only.",
                lambda height, width, side: width // side,
            ),
            Mistake(
                "square-assumed",
                "The height is used for both sides, as if every image were square.",
                lambda height, width, side: (height // side) ** 2,
            ),
            Mistake(
                "square-assumed",
                "The width is used for both sides, as if every image were square.",
                lambda height, width, side: (width // side) ** 2,
            ),
            Mistake(
                "sides-added",
                "The rows and the columns of patches are added up.",
                lambda height, width, side: height // side + width // side,
            ),
            Mistake(
                "side-not-squared",
                "The pixels of the image are divided by the side of a patch, not by its pixels.",
                lambda height, width, side: height * width // side,
            ),
            Mistake(
                "class-token-counted",
                "There is one too many: this counts tokens of the whole model, and patches are asked for.",
                lambda height, width, side: (height // side) * (width // side) + 1,
            ),
        ],
    )
    _refuses(answer, draw)


def _not_refused(answer, arguments) -> None:
    try:
        call(answer, *arguments)
    except Wrong as wrong:
        # Any other error is for `same_values` to report.
        if isinstance(wrong.__cause__, ValueError):
            raise Wrong(
                "good-size-refused",
                "An image is refused although its height and its width are multiples of P.",
                [_sizes(*arguments), *wrong.details],
            ) from None


def _refuses(answer, draw) -> None:
    unfit = _unfit(draw)
    received = [_refusal(answer, arguments) for arguments in unfit]
    passed = [index for index, one in enumerate(received) if one is not ValueError]
    if not passed:
        return
    first = passed[0]
    details = [_sizes(*unfit[first]), "Expected: a ValueError", f"Received: {describe(received[first])}"]
    _name_the_condition(received, unfit, details)
    if len(passed) == len(unfit):
        _name_what_came(received, unfit, details)
    raise Wrong("wrong-behaviour", "An image that cannot be cut into whole patches is not refused.", details)


def _unfit(draw) -> list[tuple[int, int, int]]:
    rows, columns, half = draw.sizes(3)
    side = 2 * half
    little = draw.choose(range(1, half))
    much = side - little
    return [
        (rows * side + little, columns * side, side),
        (rows * side, columns * side + much, side),
        (rows * side + much, columns * side + little, side),
        # P * P divides the area of these.
        (rows * side + half, 2 * columns * side, side),
        (2 * rows * side, columns * side + half, side),
        (4, 9, 6),
    ]


def _refusal(answer, arguments):
    """-> what came back, or the class ValueError where one was raised."""
    try:
        return call(answer, *arguments)
    except Wrong as wrong:
        if not wrong.__cause__:
            raise
        if not isinstance(wrong.__cause__, ValueError):
            raise Wrong(
                "another-error",
                "An image that cannot be cut is refused, with another error than the one asked for.",
                [_sizes(*arguments), *wrong.details],
            ) from None
        return ValueError


def _name_the_condition(received, unfit, details) -> None:
    refusals = {
        "only-area-checked": (
            "It is the area that is compared with the patch: some images pass although a side does not fit.",
            [h * w % p**2 == 0 for h, w, p in unfit],
        ),
        "only-height-checked": (
            "The width is not looked at: an image passes if its height fits.",
            [h % p == 0 for h, _, p in unfit],
        ),
        "only-width-checked": (
            "The height is not looked at: an image passes if its width fits.",
            [w % p == 0 for _, w, p in unfit],
        ),
        "refused-only-if-both": (
            "An image is refused only if neither side fits: one side that fits lets the other pass.",
            [h % p == 0 or w % p == 0 for h, w, p in unfit],
        ),
    }
    for slug, (sentence, passes) in refusals.items():
        if [one is not ValueError for one in received] == passes:
            raise Wrong(slug, sentence, details)


def _name_what_came(received, unfit, details) -> None:
    quiet = {
        "rounds-down": (
            "The rest of an image that does not fit is dropped without a word.",
            [(h // p) * (w // p) for h, w, p in unfit],
        ),
        "rounds-up": (
            "An incomplete patch is counted as a whole one without a word.",
            [-(-h // p) * -(-w // p) for h, w, p in unfit],
        ),
        "area-divided": (
            "Area is divided by area, so pieces that are no squares are counted, without a word.",
            [h * w // p**2 for h, w, p in unfit],
        ),
    }
    for slug, (sentence, values) in quiet.items():
        if received == values:
            raise Wrong(slug, sentence, details)
    if all(not isinstance(one, (int, float)) or isinstance(one, bool) or one <= 0 for one in received):
        raise Wrong(
            "returned-not-raised",
            "For an image that cannot be cut something is returned, so the code that called goes on.",
            details,
        )


def _sizes(height: int, width: int, side: int) -> str:
    return f"Input:    height = {height}, width = {width}, patch_size = {side}"
