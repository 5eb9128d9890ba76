"""Exceptions across the two processes: name, words and the learner's line, never an object."""

import builtins
import linecache
import sysconfig
import traceback
from pathlib import Path

LEARNERS = "<answer>"  # the name of the file in which a rebuilt error was raised
MOST_WORDS, MOST_LINES = 4000, 100_000
_PACKAGE = str(Path(__file__).parents[3])
_NOT_THEIRS = tuple({*(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")), _PACKAGE, "<frozen"})


def told(error: BaseException) -> dict:
    """An error as plain values: what `rebuilt` needs."""
    line, text = _learners_line(error)
    try:
        words = str(error)
    except Exception:  # an exception's own __str__ is the learner's code too
        words = ""
    # torch raises a NotImplementedError with a text where a stub raises a bare one.
    return {
        "name": type(error).__name__[:80],
        "kind": next((kind.__name__ for kind in type(error).__mro__ if vars(builtins).get(kind.__name__) is kind), ""),
        "words": words[:MOST_WORDS],
        "bare": not error.args,
        "line": line,
        "text": text,
    }


def rebuilt(node: dict) -> BaseException:
    """The error that `told` told of, with the learner's line in its traceback."""
    kind = vars(builtins).get(str(node["kind"]))
    if not (isinstance(kind, type) and issubclass(kind, BaseException)) or issubclass(kind, BaseExceptionGroup):
        kind = Exception
    name, words = str(node["name"])[:80], str(node["words"])[:MOST_WORDS]
    if name != kind.__name__ or issubclass(kind, UnicodeError):  # whose constructors want five arguments
        kind = type(name, (Exception if issubclass(kind, UnicodeError) else kind,), {})
    error = kind() if node["bare"] else kind(_Words(words))
    line = node["line"]
    return _raised_at(error, line, str(node["text"])) if type(line) is int and 0 < line < MOST_LINES else error


class _Words(str):
    # A KeyError shows the repr of what it is given, and these are its words already.
    __repr__ = str.__str__


def _raised_at(error: BaseException, line: int, text: str) -> BaseException:
    # Whoever reads the traceback finds a frame of the learner's file, as if the code had run here.
    linecache.cache[LEARNERS] = (1, None, ["\n"] * (line - 1) + [text[:500] + "\n"], LEARNERS)
    try:
        exec(compile("\n" * (line - 1) + "raise error", LEARNERS, "exec"), {"error": error})
    except BaseException as caught:
        return caught


def _learners_line(error: BaseException) -> tuple[int, str]:
    found = (0, "")
    for frame in traceback.extract_tb(error.__traceback__):
        if not frame.filename.startswith(_NOT_THEIRS):
            found = (frame.lineno or 0, frame.line or "")
    return found
