"""Says in words what an error of PyTorch or of Python in the learner's code means, where that is certain."""

import math
import re

from vit_course.checks.limited import learners_line
from vit_course.checks.report import Wrong
from vit_course.checks.tools.table import known

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
        for pattern, slug, sentence in known(__name__, "raised"):
            if found := re.search(pattern, line):
                room = math.prod(map(int, re.findall(r"\d+", "".join(found.groups()[:1]))))  # of a shape, without a -1
                said = sentence.format(*found.groups(), room=room)
                return Wrong(slug, said, wrong.details, wrong.expected, wrong.received)
    return wrong


def lengths_met(wrong: Wrong) -> tuple[int, ...] | None:
    """The two lengths that a raised error says do not fit, or None."""
    patterns = [pattern for pattern, slug, _ in known(__name__, "raised") if slug == AXES]
    found = (re.search(pattern, line) for line in wrong.details for pattern in patterns)
    return next((tuple(map(int, one.groups())) for one in found if one), None)
