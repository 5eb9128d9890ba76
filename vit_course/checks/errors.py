"""Says in words what an error of PyTorch or of Python in the learner's code means, where that is certain."""

import math
import re

from vit_course.checks.report import Wrong
from vit_course.checks.timeout import learners_line
from vit_course.checks.tools.mistakes import Known

AXES = "axes-do-not-fit"


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
        for pattern, slug, sentence in RAISED:
            if found := re.search(pattern, line):
                room = math.prod(map(int, re.findall(r"\d+", "".join(found.groups()[:1]))))  # of a shape, without a -1
                said = sentence.format(*found.groups(), room=room)
                return Wrong(slug, said, wrong.details, wrong.expected, wrong.received)
    return wrong


def lengths_met(wrong: Wrong) -> tuple[int, ...] | None:
    """The two lengths that a raised error says do not fit, or None."""
    patterns = [pattern for pattern, slug, _ in RAISED if slug == AXES]
    found = (re.search(pattern, line) for line in wrong.details for pattern in patterns)
    return next((tuple(map(int, one.groups())) for one in found if one), None)


# What an error says, a slug, and a sentence that holds whatever the code was meant to do. {0} and {1} are what the
# pattern has found, {room} is the product of the sizes in the first.
RAISED = [
    Known(
        "view size is not compatible with input tensor's size and stride",
        "view-of-transposed",
        "Your code takes a view of a tensor whose numbers are not stored in that order, as after swapping axes.",
    ),
    Known(
        r"shape '\[([-\d, ]*-1\b[-\d, ]*)\]' is invalid for input of size (\d+)",
        "sizes-do-not-multiply-up",
        "Without the -1, the sizes multiply to {room}, which does not divide the {1} numbers of the tensor.",
    ),
    Known(
        r"shape '\[([-\d, ]*)\]' is invalid for input of size (\d+)",
        "sizes-do-not-multiply-up",
        "The shape [{0}] has room for {room} numbers, but the tensor has {1}.",
    ),
    Known(
        r"Can't call numpy\(\) on Tensor that requires grad",
        "gradient-cut",
        "A tensor is turned into a NumPy array, which would cut the gradient.",
    ),
    Known(
        r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)",
        "axes-do-not-fit",
        "Two axes are combined whose lengths do not match: {0} and {1}.",
    ),
    Known(
        r"shapes cannot be multiplied \((?:\d+x)?(\d+) and (\d+)(?:x\d+)?\)",
        "axes-do-not-fit",
        "Two tensors are multiplied as matrices, but the lengths that must be equal are {0} and {1}.",
    ),
    Known(
        r"batch2 tensor to be: \[\d+, (\d+)\] but got: \[\d+, (\d+)\]",
        "axes-do-not-fit",
        "Two tensors are multiplied as matrices, but the lengths that must be equal are {0} and {1}.",
    ),
    Known(
        "Sizes of tensors must match except in dimension",
        "joined-sizes-differ",
        "Tensors are joined along one axis, but their other axes do not have the same lengths.",
    ),
    Known(
        "stack expects each tensor to be equal size",
        "joined-sizes-differ",
        "Tensors are stacked that do not have the same shape.",
    ),
]
