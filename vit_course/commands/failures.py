"""How a command fails: one line on standard error, and an exit code that tells bad input from an unexpected error."""

import os
import sys
import textwrap
import traceback

from vit_course._support.inputs.extras import MissingPackage
from vit_course._support.inputs.rules import harmless

BAD_INPUT, UNEXPECTED = 2, 1
# PyTorch's messages for a failed allocation on the CPU, for which it has no exception class.
NO_MEMORY = ("can't allocate memory", "not enough memory", "Unable to allocate")


def explain(error: Exception, debug: bool) -> int:
    """Prints one line about an error, after its traceback if `debug`; returns the exit code."""
    if isinstance(error, BrokenPipeError):  # the reader of the output, such as `head`, has gone: nothing to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would complain at its end
        return UNEXPECTED
    if debug:
        print(*map(harmless, "".join(traceback.format_exception(error)).splitlines()), sep="\n", file=sys.stderr)
    expected = isinstance(error, (ValueError, OSError, MissingPackage))
    print(harmless(f"error: {_in_words(error) if expected else _unexpected(error, debug)}"), file=sys.stderr)
    return BAD_INPUT if expected else UNEXPECTED


def _in_words(error: Exception) -> str:
    if isinstance(error, MissingPackage):  # or the wrong Python is running
        return f"{error} (python -m vit_course check says more)"
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    # An error of the system holds the file's name as an attribute; ours have it in the message.
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


def _unexpected(error: Exception, debug: bool) -> str:
    reason = textwrap.shorten(str(error), 200) or "no reason is given"
    # A full GPU raises torch.OutOfMemoryError, which is known by its name because PyTorch may not be imported.
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or _says_no_memory(error):
        return f"not enough memory: {reason}"
    if isinstance(error, ImportError):
        return f"{reason}: python -m vit_course check says what is missing"
    return f"unexpected {type(error).__name__}: {reason}" + ("" if debug else " (add --debug for the traceback)")


def _says_no_memory(error: Exception) -> bool:
    return isinstance(error, RuntimeError) and any(words in str(error) for words in NO_MEMORY)
