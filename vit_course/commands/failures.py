"""How a command fails: one line on standard error, and an exit code that says whose the fault is."""

import sys
import textwrap
import traceback

from vit_course._support.inputs.extras import MissingPackage
from vit_course._support.inputs.rules import harmless

BAD_INPUT, UNEXPECTED = 2, 1
# What PyTorch says where an allocation fails on the CPU: it has no class of its own for that.
NO_MEMORY = ("can't allocate memory", "not enough memory", "Unable to allocate")


def explain(error: Exception, debug: bool) -> int:
    """Prints one line about an error, after its traceback where that is wanted; -> the exit code."""
    if debug:
        print(*map(harmless, "".join(traceback.format_exception(error)).splitlines()), sep="\n", file=sys.stderr)
    expected = isinstance(error, (ValueError, OSError, MissingPackage))
    print(harmless(f"error: {_in_words(error) if expected else _unexpected(error, debug)}"), file=sys.stderr)
    return BAD_INPUT if expected else UNEXPECTED


def _in_words(error: Exception) -> str:
    if isinstance(error, MissingPackage):  # or another Python than that of the course
        return f"{error} (python -m vit_course check says more)"
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    # The system's own has the name of the file beside its words; ours has it in them.
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


def _unexpected(error: Exception, debug: bool) -> str:
    reason = textwrap.shorten(str(error), 200) or "no reason is given"
    # By its name, because PyTorch may not be imported: of the GPU it is torch.OutOfMemoryError.
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or _says_no_memory(error):
        return f"not enough memory: {reason}"
    if isinstance(error, ImportError):
        return f"{reason}: python -m vit_course check says what is missing"
    return f"unexpected {type(error).__name__}: {reason}" + ("" if debug else " (add --debug for the traceback)")


def _says_no_memory(error: Exception) -> bool:
    return isinstance(error, RuntimeError) and any(words in str(error) for words in NO_MEMORY)
