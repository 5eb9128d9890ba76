"""Numbers that the course's own pictures and seeds give each time: by them a slip is told from another measurement."""

from collections.abc import Mapping, Sequence

Run = Sequence[float]


def recognised(runs: Sequence[Run], right: Sequence[Run], slips: Mapping[str, Sequence[Run]], near: float) -> str:
    """The slip that gives each of these runs, or "".

    Pictures and seeds of the learner's own are in no table, and right numbers stay right: a slip is only named where
    every run is one that it gives, and not every one is also right.

    Args:
        runs: the learner's; a run is one number or several.
        right: the runs of the course's pictures or seeds.
        slips: by name, what the same runs are by a slip.
        near: how far two numbers of one run may lie apart, for rounding.
    """
    if _all_among(runs, right, near):
        return ""
    return next((name for name, found in slips.items() if _all_among(runs, found, near)), "")


def _all_among(runs: Sequence[Run], known: Sequence[Run], near: float) -> bool:
    return all(any(_apart(run, one) <= near for one in known) for run in runs)


def _apart(run: Run, other: Run) -> float:
    return max(abs(a - b) for a, b in zip(run, other, strict=True))
