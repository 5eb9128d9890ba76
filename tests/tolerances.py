"""Compares measured numbers in a notebook's text within a stated tolerance; all other text as nbval does, exactly.

The sign for "about" stands before a measured number and covers the rest of its line: `accuracy ≈ 0.97 after 300 steps`.
How far a fresh number may lie from the stored one says a tag of the cell: `about:0.05` (a difference), `about:10%` (of
the stored number) or `about:x5` (a factor, for times and their ratios). Without a tag the text must be the same.
"""

import math
import re

import pytest
import spread
from nbval.plugin import IPyNbCell

SIGN = "≈"
TAG = re.compile(r"about:(?:x(?P<factor>[\d.]+)|(?P<percent>[\d.]+)%|(?P<apart>[\d.]+))")
NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
# A fresh number below a step of float32 may as well be 0, where another processor rounds nothing.
ROUNDING = 1e-7
# Columns move when a number gets a digit more.
SPACES = re.compile(r"\s+")


def tolerance(tags: list[str]) -> re.Match | None:
    """The tolerance among a cell's tags, or None; a `ValueError` for several, or one that says no tolerance."""
    stated = [tag for tag in tags if tag.startswith("about")]
    if not stated:
        return None
    found = TAG.fullmatch(stated[0])
    if len(stated) > 1 or not found:
        raise ValueError(f"a cell has one tag such as about:0.05, about:10% or about:x5, got {stated}")
    return found


def share_used(stored: float, fresh: float, allowed: re.Match) -> float:
    """Which share of its tolerance a fresh number uses: at most 1 where it may stand in the place of `stored`."""
    if allowed["factor"]:
        low, high = sorted((abs(stored), abs(fresh)))
        if abs(fresh) < abs(stored):
            low = max(low, ROUNDING)
        if stored * fresh < 0 or low == 0 < high:
            return math.inf
        return math.log(high / low) / math.log(float(allowed["factor"])) if high > low else 0.0
    most = float(allowed["percent"]) / 100 * abs(stored) if allowed["percent"] else float(allowed["apart"])
    apart = abs(stored - fresh)
    return apart / most if most else math.inf if apart else 0.0


def numbers_of(stored: str, fresh: str) -> list[tuple[float, float]] | None:
    """The measured numbers of two lines, in pairs; None where the lines differ in anything else."""
    before, sign, measured = stored.partition(SIGN)
    if not sign or not fresh.startswith(before + sign):
        return None
    again = fresh[len(before) + 1 :]
    words = [SPACES.sub(" ", NUMBER.sub("#", text)) for text in (measured, again)]
    if words[0] != words[1]:
        return None
    numbers = [[float(n.replace("−", "-")) for n in NUMBER.findall(text)] for text in (measured, again)]
    return list(zip(*numbers, strict=True))


def same_line(stored: str, fresh: str, allowed: re.Match) -> bool:
    """Whether two lines are the same but for numbers after the sign, and those near each other."""
    if stored == fresh:
        return True
    pairs = numbers_of(stored, fresh)
    return pairs is not None and all(share_used(*pair, allowed) <= 1 + 1e-9 for pair in pairs)


def settled(stored: str, fresh: str, allowed: re.Match) -> str:
    """The fresh text, each of its lines as stored where the two agree; what is left differs."""
    lines = stored.split("\n"), fresh.split("\n")
    if len(lines[0]) != len(lines[1]):
        return fresh
    return "\n".join(a if same_line(a, b, allowed) else b for a, b in zip(*lines, strict=True))


def compare_outputs(cell: IPyNbCell, fresh: list, stored: list, skip_compare=None) -> bool:
    """nbval's comparison, of texts in which measured numbers are settled."""
    if allowed := tolerance(cell.cell.metadata.get("tags", [])):
        for a, b in zip(stored, fresh, strict=False):
            if "text" in a and "text" in b:
                note_spread(cell, a["text"], b["text"], allowed)
                b["text"] = settled(a["text"], b["text"], allowed)
    return THEIRS(cell, fresh, stored, skip_compare)


def note_spread(cell: IPyNbCell, stored: str, fresh: str, allowed: re.Match) -> None:
    """Notes each measured number of a cell for tests/portable.py."""
    for line, (before, after) in enumerate(zip(stored.split("\n"), fresh.split("\n"), strict=False)):
        for place, (number, again) in enumerate(numbers_of(before, after) or []):
            where = f"{cell.path.name} cell {cell.cell_num}, line {line + 1}, number {place + 1}"
            spread.note(where, number, again, share_used(number, again, allowed))


THEIRS = IPyNbCell.compare_outputs


@pytest.hookimpl
def pytest_configure():
    IPyNbCell.compare_outputs = compare_outputs
