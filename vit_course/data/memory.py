"""Checks whether something fits into memory before it is made."""

import psutil


def check_memory(needed: int, what: str, instead: str) -> None:
    """Checks that enough memory is free; otherwise the system might kill the process or freeze.

    Args:
        needed: bytes.
        what: what needs them, in the plural.
        instead: what to do instead, for the message.

    Raises:
        ValueError: less than that is free.
    """
    free = psutil.virtual_memory().available
    if needed > free:
        raise ValueError(f"{what} need {needed / 1e9:,.1f} GB of memory, but {free / 1e9:,.1f} GB are free: {instead}")
