"""Exercise patchify.count: how many patches an image has, in a function to be fixed."""

from vit_course.checks.exercise import exercise
from vit_course.checks.report import NotAttempted, Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_values
from vit_course.checks.tools.table import table
from vit_course.checks.tools.words import describe


@exercise("1.1", "Fix the patch counter", section="First by hand", difficulty=2, minutes=7)
def count(answer, draw):
    """`answer(height, width, patch_size)` -> N, an int; a ValueError for a side that P does not divide."""
    sizes = [draw.sizes(3) for _ in range(3)]
    # Also a square image, one of a single patch, one row of patches, and patches of one pixel.
    sizes += [(4, 4, 3), (1, 1, 7), (1, 5, 6), (3, 2, 1)]
    fitting = [(rows * side, columns * side, side) for rows, columns, side in sizes]
    unfit = _unfit(draw)
    _not_refused(answer, fitting, unfit)
    same_values(
        answer,
        lambda height, width, patch_size: (height // patch_size) * (width // patch_size),
        fitting,
        mistakes=table(__name__, "miscounts"),
    )
    _refuses(answer, unfit)


def _not_refused(answer, fitting, unfit) -> None:
    errors = [_refused(answer, arguments) for arguments in fitting]
    refused = [error is not None for error in errors]
    if not any(refused):
        return
    first = refused.index(True)
    details = [_sizes(*fitting[first]), *errors[first].details]
    if all(refused) and not any(_refused(answer, arguments) for arguments in unfit):
        sentence = "Images that fit are refused and those that do not fit pass: the condition is upside down."
        raise Wrong("condition-inverted", sentence, details)
    if refused == [height != width for height, width, _ in fitting]:
        raise Wrong("only-square-images", "An image that is not square is refused, although its sides fit.", details)
    sentence = "An image is refused although its height and its width are multiples of P."
    raise Wrong("good-size-refused", sentence, details)


def _refused(answer, arguments) -> Wrong | None:
    try:
        call(answer, *arguments)
    except Wrong as wrong:  # any other error is for `same_values` to report
        return wrong if isinstance(wrong.__cause__, ValueError) else None
    except NotAttempted:
        return None


_REFUSED = object()  # in place of what came back, where a ValueError was raised


def _refuses(answer, unfit) -> None:
    received = [_received(answer, arguments) for arguments in unfit]
    passed = [index for index, one in enumerate(received) if one is not _REFUSED]
    if not passed:
        return
    first = passed[0]
    details = [_sizes(*unfit[first]), "Expected: a ValueError", f"Received: {_words(received[first])}"]
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
        # Smaller than a patch, in one side and in both; P divides the sum of these sides.
        (rows * side, little, side),
        (much, columns * side, side),
        (little, much, side),
        # A square one, and one whose sides have a remainder as long as a patch together.
        (rows * side + half, rows * side + half, side),
        (rows * side + little, columns * side + much, side),
    ]


def _received(answer, arguments):
    """-> what came back, or `_REFUSED` where a ValueError was raised."""
    try:
        return call(answer, *arguments)
    except NotAttempted:  # a NotImplementedError in the branch that refuses
        details = ["NotImplementedError"]
    except Wrong as wrong:
        if not wrong.__cause__:
            raise
        if isinstance(wrong.__cause__, ValueError):
            return _REFUSED
        details = wrong.details
    sentence = "An image that cannot be cut is refused, with another error than the one asked for."
    raise Wrong("another-error", sentence, [_sizes(*arguments), *details]) from None


def _name_the_condition(received, unfit, details) -> None:
    for one in table(__name__, "conditions"):
        if [came is not _REFUSED for came in received] == [one.function(*sizes) for sizes in unfit]:
            raise Wrong(one.slug, one.sentence, details)


def _name_what_came(received, unfit, details) -> None:
    numbers = [one for one in received if isinstance(one, (int, float))]
    for one in table(__name__, "quiet"):
        if numbers == [one.function(*sizes) for sizes in unfit]:
            raise Wrong(one.slug, one.sentence, details)
    if all(not isinstance(one, (int, float)) or isinstance(one, bool) or one <= 0 for one in received):
        sentence = "For an image that cannot be cut something is returned, so the code that called goes on."
        raise Wrong("returned-not-raised", sentence, details)


def _words(received) -> str:
    if isinstance(received, BaseException) or (isinstance(received, type) and issubclass(received, BaseException)):
        kind = received if isinstance(received, type) else type(received)
        return f"{kind.__name__} as a result, and not raised"
    return describe(received)


def _sizes(height: int, width: int, side: int) -> str:
    return f"Input:    height = {height}, width = {width}, patch_size = {side}"
