"""Exceptions between the two processes: sent as name, message and the learner's line, never as an object."""

import builtins

from vit_course.checks.timeout import learners_line
from vit_course.teaching.classroom.apart.serialization import as_text

MOST_WORDS, MOST_LINE = 4000, 200


def told(error: BaseException) -> dict:
    """An exception as plain values, from which `rebuilt` makes it again."""
    try:
        words = str(error)
    except Exception:  # an exception's own __str__ is the learner's code too
        words = ""
    return {
        "name": type(error).__name__[:80],
        "kind": next((kind.__name__ for kind in type(error).__mro__ if vars(builtins).get(kind.__name__) is kind), ""),
        "words": words[:MOST_WORDS],
        "bare": not error.args,  # a stub's NotImplementedError has no text; torch's own has one
        "line": learners_line(error),
        "kept_as": getattr(error, "kept_as", None),
    }


def rebuilt(node: dict) -> BaseException:
    """The exception that `told` has described; its attribute `learners_line` says where it was raised.

    Its attribute `kept_as` is the number under which the grading process keeps the exception object, or None.
    """
    kind = vars(builtins).get(str(node["kind"]))
    if not (isinstance(kind, type) and issubclass(kind, BaseException)) or issubclass(kind, BaseExceptionGroup):
        kind = Exception
    name, words = as_text(node["name"])[:80], as_text(node["words"])[:MOST_WORDS]
    if name != kind.__name__ or issubclass(kind, UnicodeError):  # whose constructors want five arguments
        kind = type(name, (Exception if issubclass(kind, UnicodeError) else kind,), {})
    error = kind() if node["bare"] else kind(_Words(words))
    error.learners_line = as_text(node["line"])[:MOST_LINE] if node["line"] else None
    error.kept_as = node.get("kept_as")
    return error


class _Words(str):
    # str() of a KeyError is the repr of its argument; this keeps the message as it was.
    __repr__ = str.__str__
