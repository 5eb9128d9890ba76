"""Whether something fits into memory, asked before any of it is made."""

import psutil


def check_memory(needed: int, what: str, instead: str) -> None:
    """Refuses what needs more bytes than are free: the system would end the process without a word, or stand still.

    Args:
        needed: bytes.
        what: takes them, in the plural.
        instead: what to do, in words.

    Raises:
        ValueError: not so much is free.
    """
    free = psutil.virtual_memory().available
    if needed > free:
        raise ValueError(f"{what} need {needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free: {instead}")
