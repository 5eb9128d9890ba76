"""Exercise patchify.count: how many patches an image has, in a function to be fixed."""

from collections.abc import Callable
from functools import partial

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_values
from vit_course.checks.tools.mistakes import Mistake, bugs_repaired
from vit_course.checks.tools.returned import of_type
from vit_course.checks.tools.words import describe

Sizes = tuple[int, int, int]  # height, width and patch size

_REFUSED = object()  # the outcome where a ValueError was raised


def count(answer, draw):
    """`answer(height, width, patch_size)` -> N, an int; a ValueError for a side that P does not divide."""
    fitting, unfit = _fitting(draw), _unfit(draw)
    _repaired(answer, [*fitting, *unfit])
    _accepts(answer, fitting)
    same_values(answer, _right, fitting, MISCOUNTS)
    of_type(call(answer, *fitting[0]), int, "N")
    _refuses(answer, unfit)


def _right(height, width, patch_size):
    return (height // patch_size) * (width // patch_size)


def _fitting(draw) -> list[Sizes]:
    # Also a square image, one of a single patch, one row of patches, and patches of one pixel.
    grids = [*(draw.sizes(3) for _ in range(3)), (4, 4, 3), (1, 1, 7), (1, 5, 6), (3, 2, 1)]
    return [(rows * side, columns * side, side) for rows, columns, side in grids]


def _unfit(draw) -> list[Sizes]:
    rows, columns, half = draw.sizes(3)
    side, little = 2 * half, draw.choose(range(1, half))
    H, W, much = rows * side, columns * side, side - little
    one_side = [(H + little, W, side), (H, W + much, side), (H + much, W + little, side)]
    whole_area = [(H + half, 2 * W, side), (2 * H, W + half, side), (4, 9, 6)]  # P * P divides it
    smaller_than_a_patch = [(H, little, side), (much, W, side), (little, much, side)]
    whole_sum = [(H + half, H + half, side), (H + little, W + much, side)]  # P divides the sum of the sides
    return [*one_side, *whole_area, *smaller_than_a_patch, *whole_sum]


def _outcome(function: Callable, sizes: Sizes):
    # What came back, `_REFUSED`, or the `Wrong` of another error.
    try:
        return call(function, *sizes)
    except Wrong as wrong:
        if not wrong.__cause__:
            raise
        return _REFUSED if isinstance(wrong.__cause__, ValueError) else wrong


def _repaired(answer, every: list[Sizes]) -> None:
    outcomes = [_outcome(answer, sizes) for sizes in every]
    for mistake in FAULTY:
        for faulty in mistake.forms:
            if _alike(outcomes, [_outcome(faulty, sizes) for sizes in every]):
                raise Wrong(mistake.slug, mistake.sentence)


def _alike(outcomes: list, others: list) -> bool:
    return all(type(one) is type(other) and one == other for one, other in zip(outcomes, others, strict=True))


def _accepts(answer, fitting: list[Sizes]) -> None:
    refused = [_outcome(answer, sizes) is _REFUSED for sizes in fitting]
    if not any(refused):
        return
    details = [_input(fitting[refused.index(True)])]
    if refused == [height != width for height, width, _ in fitting]:
        sentence = "An image that is not square is refused although its sides fit."
        raise Wrong("only-square-images", sentence, details)
    sentence = "An image is refused although its height and its width are multiples of P."
    raise Wrong("good-size-refused", sentence, details)


def _refuses(answer, unfit: list[Sizes]) -> None:
    outcomes = [_outcome(answer, sizes) for sizes in unfit]
    for outcome, sizes in zip(outcomes, unfit, strict=True):
        if isinstance(outcome, Wrong):
            sentence = "An image that cannot be cut is refused, but not with the error that the exercise asks for."
            raise Wrong("another-error", sentence, [_input(sizes), *outcome.details])
    passes = [outcome is not _REFUSED for outcome in outcomes]
    if not any(passes):
        return
    first = passes.index(True)
    details = [_input(unfit[first]), "Expected: a ValueError", f"Received: {describe(outcomes[first])}"]
    for mistake in CONDITIONS:
        if any(passes == [condition(*sizes) for sizes in unfit] for condition in mistake.forms):
            raise Wrong(mistake.slug, mistake.sentence, details)
    numbers = [type(outcome) in (int, float) for outcome in outcomes]
    for mistake in QUIET if all(numbers) else ():
        if any(outcomes == [number(*sizes) for sizes in unfit] for number in mistake.forms):
            raise Wrong(mistake.slug, mistake.sentence, details)
    if all(passes) and not any(numbers):
        sentence = "Something is returned for an image that cannot be cut, so the calling code goes on."
        raise Wrong("returned-not-raised", sentence, details)
    raise Wrong("wrong-behaviour", "An image that cannot be cut into whole patches is not refused.", details)


def _input(sizes: Sizes) -> str:
    return "Input:    height = {}, width = {}, patch_size = {}".format(*sizes)


def _faulty(height, width, patch_size, hidden_dim):
    if hidden_dim % patch_size != 0:
        raise ValueError("the patch size does not fit the image")
    return int(height * width / patch_size**2)


def _faulty_condition(height, width, patch_size, hidden_dim):
    if hidden_dim % patch_size != 0:
        raise ValueError("the patch size does not fit the image")
    return (height // patch_size) * (width // patch_size)


HIDDEN_WIDTHS = (768, 100)  # those that the notebook tries the faulty version with

# With the other bug alone, whatever is counted was tested before: it is right.
FAULTY = [
    Mistake(
        "still-faulty",
        bugs_repaired(0, 2),
        *(partial(_faulty, hidden_dim=width) for width in HIDDEN_WIDTHS),
    ),
    Mistake(
        "hidden-width-tested",
        f"{bugs_repaired(1, 2)} The condition tests the hidden width, which has nothing to do with the image.",
        *(partial(_faulty_condition, hidden_dim=width) for width in HIDDEN_WIDTHS),
    ),
]

MISCOUNTS = [
    Mistake(
        "square-assumed",
        "One side of the image is used for both, as if every image were square.",
        lambda height, width, side: (height // side) ** 2,
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
        "side-not-squared",
        "The pixels of the image are divided by twice the side of a patch, not by its pixels.",
        lambda height, width, side: height * width // (2 * side),
        lambda height, width, side: height * width / (2 * side),
    ),
    Mistake(
        "class-token-counted",
        "There is one too many: this counts the tokens of the whole model; the exercise asks for patches.",
        lambda height, width, side: height // side * (width // side) + 1,
    ),
]

# Of an image that does not fit: whether it passes.
CONDITIONS = [
    Mistake(
        "only-area-checked",
        "The area is compared with the patch, so some images pass although a side does not fit.",
        lambda h, w, p: h * w % p**2 == 0,
    ),
    Mistake(
        "sum-of-the-sides", "The sum of the two sides is compared with the patch.", lambda h, w, p: (h + w) % p == 0
    ),
    Mistake(
        "only-height-checked",
        "The width is not checked: an image passes if its height fits.",
        lambda h, w, p: h % p == 0,
    ),
    Mistake(
        "only-width-checked",
        "The height is not checked: an image passes if its width fits.",
        lambda h, w, p: w % p == 0,
    ),
    Mistake(
        "refused-only-if-both",
        "An image is refused only if neither side fits: one side that fits is enough to pass.",
        lambda h, w, p: h % p == 0 or w % p == 0,
    ),
]

# Of an image that does not fit: what comes back.
QUIET = [
    Mistake(
        "rounds-down",
        "The part of an image that does not fit is silently dropped.",
        lambda h, w, p: h // p * (w // p),
    ),
    Mistake(
        "rounds-up",
        "An incomplete patch is silently counted as a whole one.",
        lambda h, w, p: -(-h // p) * -(-w // p),
    ),
    Mistake(
        "area-divided",
        "The area of the image is divided by that of a patch, so pieces that are not squares are silently counted.",
        lambda h, w, p: h * w // p**2,
    ),
    Mistake(
        "rounds-to-the-nearest",
        "The numbers of rows and columns are silently rounded to the nearest whole number.",
        lambda h, w, p: round(h / p) * round(w / p),
    ),
]
