"""Exercise patchify.count: how many patches an image has, in a function to be fixed."""

from vit_course.checks.report import NotAttempted, Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_values
from vit_course.checks.tools.mistakes import Slip, refuse, wrong_functions
from vit_course.checks.tools.returned import of_type
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
        refuse(
            REFUSED, dict(fitting=fitting, refused=refused, all_pass=all_pass), [_given(fitting[refused.index(True)])]
        )
    same_values(answer, _right, fitting, mistakes=wrong_functions(MISCOUNTS))
    of_type(call(answer, *fitting[0]), int, "N")
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
    for condition in wrong_functions(CONDITIONS):
        if passes == [condition.function(*sizes) for sizes in unfit]:
            raise Wrong(condition.slug, condition.sentence, details)
    for slip in wrong_functions(QUIET):
        if all(type(one) in (int, float) for one in came) and came == [slip.function(*sizes) for sizes in unfit]:
            raise Wrong(slip.slug, slip.sentence, details)
    refuse(PASSED, dict(came=came, passes=passes), details)


def _given(sizes: tuple[int, int, int]) -> str:
    return "Input:    height = {}, width = {}, patch_size = {}".format(*sizes)


REFUSED = [
    Slip(
        "condition-inverted",
        "Images that fit are refused and those that do not fit pass: the condition is inverted.",
        lambda refused, all_pass: all(refused) and all_pass,
    ),
    Slip(
        "only-square-images",
        "An image that is not square is refused although its sides fit.",
        lambda refused, fitting: refused == [height != width for height, width, _ in fitting],
    ),
    Slip("good-size-refused", "An image is refused although its height and its width are multiples of P.", True),
]

MISCOUNTS = [
    Slip(
        "one-side-only",
        "Patches are counted along one side only.",
        lambda height, width, side: height // side,
        lambda height, width, side: width // side,
    ),
    Slip(
        "square-assumed",
        "One side of the image is used for both, as if every image were square.",
        lambda height, width, side: (height // side) ** 2,
        lambda height, width, side: (width // side) ** 2,
    ),
    Slip(
        "sides-added",
        "The rows and the columns of patches are added up.",
        lambda height, width, side: height // side + width // side,
    ),
    Slip(
        "side-not-squared",
        "The pixels of the image are divided by the side of a patch, not by its pixels.",
        lambda height, width, side: height * width // side,
    ),
    Slip(
        "side-not-squared",
        "The pixels of the image are divided by twice the side of a patch, not by its pixels.",
        lambda height, width, side: height * width // (2 * side),
        lambda height, width, side: height * width / (2 * side),
    ),
    Slip(
        "class-token-counted",
        "There is one too many: this counts the tokens of the whole model; the exercise asks for patches.",
        lambda height, width, side: height // side * (width // side) + 1,
    ),
    Slip(
        "one-row-less-or-more",
        "There is one row and one column of patches too few or too many.",
        lambda height, width, side: (height // side - 1) * (width // side - 1),
        lambda height, width, side: (height // side + 1) * (width // side + 1),
    ),
    Slip(
        "windows-overlap",
        "This counts windows that move by one pixel and overlap; patches do not overlap.",
        lambda height, width, side: (height - side + 1) * (width - side + 1),
    ),
    Slip(
        "patch-size-as-a-number",
        "The side of a patch is hard-coded as 16; it is the third argument.",
        lambda height, width, side: height // 16 * (width // 16),
        lambda height, width, side: height * width // 16**2,
    ),
]

# Of an image that does not fit: whether it passes.
CONDITIONS = [
    Slip(
        "only-area-checked",
        "The area is compared with the patch, so some images pass although a side does not fit.",
        lambda h, w, p: h * w % p**2 == 0,
    ),
    Slip(
        "area-compared-with-a-side",
        "The area is compared with the side of a patch: if one side of the image fits, the area always does.",
        lambda h, w, p: h * w % p == 0,
    ),
    Slip("sum-of-the-sides", "The sum of the two sides is compared with the patch.", lambda h, w, p: (h + w) % p == 0),
    Slip(
        "only-height-checked",
        "The width is not checked: an image passes if its height fits.",
        lambda h, w, p: h % p == 0,
    ),
    Slip(
        "only-width-checked",
        "The height is not checked: an image passes if its width fits.",
        lambda h, w, p: w % p == 0,
    ),
    Slip(
        "refused-only-if-both",
        "An image is refused only if neither side fits: one side that fits is enough to pass.",
        lambda h, w, p: h % p == 0 or w % p == 0,
    ),
    Slip(
        "small-image-passes",
        "An image that is smaller than a patch passes although no patch can be cut from it.",
        lambda h, w, p: (h < p or h % p == 0) and (w < p or w % p == 0),
    ),
]

# Of an image that does not fit: what comes back.
QUIET = [
    Slip(
        "rounds-down",
        "The part of an image that does not fit is silently dropped.",
        lambda h, w, p: h // p * (w // p),
    ),
    Slip(
        "rounds-up",
        "An incomplete patch is silently counted as a whole one.",
        lambda h, w, p: -(-h // p) * -(-w // p),
    ),
    Slip(
        "area-divided",
        ("The area of the image is divided by that of a patch, so pieces that are not squares are silently counted."),
        lambda h, w, p: h * w // p**2,
    ),
    Slip(
        "rounds-to-the-nearest",
        "The numbers of rows and columns are silently rounded to the nearest whole number.",
        lambda h, w, p: round(h / p) * round(w / p),
    ),
]

PASSED = [
    Slip(
        "returned-not-raised",
        "Something is returned for an image that cannot be cut, so the calling code goes on.",
        lambda passes, came: all(passes) and all(type(one) not in (int, float) or one <= 0 for one in came),
    ),
    Slip("wrong-behaviour", "An image that cannot be cut into whole patches is not refused.", True),
]
