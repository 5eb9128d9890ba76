"""Says in words what an error of PyTorch or of Python in the learner's code means, where that is certain."""

import math
import re
from collections.abc import Callable

from vit_course.checks.limited import learners_line
from vit_course.checks.report import Wrong


def raised(error: BaseException) -> Wrong:
    """An exception of the learner's code as a `Wrong`, with the learner's own line."""
    where = learners_line(error)
    message = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {message[0]}" if message else type(error).__name__
    details = [f"{text}" + (f", at {where}" if where else "")]
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        return Wrong("tried-to-exit", "Your code tries to end the program.", details)
    if isinstance(error, RecursionError):
        return Wrong("endless-recursion", "Your code calls itself endlessly.", details)
    if isinstance(error, AttributeError) and "before Module.__init__() call" in str(error):
        return Wrong("no-super-init", "The constructor sets an attribute before that of nn.Module has run.", details)
    return Wrong("raised-error", "Your code raised an error.", details)


def in_words(wrong: Wrong) -> Wrong:
    """A raised error under the name of what has happened; any other `Wrong`, and an unknown error, as it is."""
    if wrong.mistake != "raised-error":
        return wrong
    for line in wrong.details:
        for pattern, slug, sentence in _ERRORS:
            if found := re.search(pattern, line):
                said = sentence if isinstance(sentence, str) else sentence(*found.groups())
                return Wrong(slug, said, wrong.details, wrong.expected, wrong.received)
    return wrong


def _lengths(one: str, other: str) -> str:
    return f"Two axes are combined whose lengths do not match: {one} and {other}."


def _inner(one: str, other: str) -> str:
    return f"Two tensors are multiplied as matrices, but the lengths that must be equal are {one} and {other}."


def _filled(shape: str, numbers: str) -> str:
    sizes = [int(size) for size in re.findall(r"-?\d+", shape)]
    asked = math.prod(size for size in sizes if size >= 0)
    if -1 in sizes:
        return (
            f"Without the -1, the sizes multiply to {asked}, which does not divide the {numbers} numbers of the tensor."
        )
    return f"The shape [{shape}] has room for {asked} numbers, but the tensor has {numbers}."


# What the error says, a slug, and a sentence that holds whatever the code was meant to do.
_ERRORS: list[tuple[str, str, str | Callable[..., str]]] = [
    (
        r"view size is not compatible with input tensor's size and stride",
        "view-of-transposed",
        "Your code takes a view of a tensor whose numbers are not stored in that order, as after swapping axes.",
    ),
    (r"shape '\[([-\d, ]*)\]' is invalid for input of size (\d+)", "sizes-do-not-multiply-up", _filled),
    (
        r"Can't call numpy\(\) on Tensor that requires grad",
        "gradient-cut",
        "A tensor is turned into a NumPy array, which would cut the gradient.",
    ),
    (r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)", "axes-do-not-fit", _lengths),
    (r"shapes cannot be multiplied \((?:\d+x)?(\d+) and (\d+)(?:x\d+)?\)", "axes-do-not-fit", _inner),
    (r"batch2 tensor to be: \[\d+, (\d+)\] but got: \[\d+, (\d+)\]", "axes-do-not-fit", _inner),
    (
        r"Sizes of tensors must match except in dimension",
        "joined-sizes-differ",
        "Tensors are joined along one axis, but their other axes do not have the same lengths.",
    ),
    (
        r"stack expects each tensor to be equal size",
        "joined-sizes-differ",
        "Tensors are stacked that do not have the same shape.",
    ),
]
