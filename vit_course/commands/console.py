"""Printing for the commands. Class names and file names may contain control characters that a terminal obeys."""

from vit_course._support.inputs.rules import harmless


def say(line: str) -> None:
    """Prints one line, with characters that a terminal would obey escaped."""
    print(harmless(line), flush=True)
