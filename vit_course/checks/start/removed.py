"""Exercise start.removed: which part the clock reader can least do without, judged by the learner's own numbers."""

import math

from vit_course.checks.report import Wrong
from vit_course.checks.tools.by_hand import same_answer
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import Mistake
from vit_course.checks.tools.returned import named, real
from vit_course.checks.tools.table import refuse, table, values

PARTS = ("positions", "attention", "mlp")
SHARES = ("whole", *(f"without_{part}" for part in PARTS))


def removed(answer, parts):
    """`answer()` -> four shares of clocks read right, the part most needed, and why."""
    # To make one of the models again takes longer than a learner would wait; the tables know what a share can be.
    received = named(call(answer), (*SHARES, "most_needed", "because"))
    given = [_number(received[name]) for name in SHARES]
    refuse(__name__, "together", locals())
    slip, meant = _meant(given)
    for name, share, right in zip(SHARES, given, meant, strict=True):
        with parts(name):
            real(received[name])
            if slip and share != right:
                raise Wrong(slip.slug, slip.sentence)
            _plausible(name, right, meant)
    with parts("most_needed"):
        # Where two numbers are exchanged, those that were given may be what was concluded from.
        _follows(received["most_needed"], given if slip and slip.slug == "parts-exchanged" else meant)
    with parts("because"):
        same_answer(received["because"], "b", values(__name__, "because"))


def _number(received) -> float:
    try:
        return real(received)
    except Wrong:
        return math.nan


def _meant(given: list[float]) -> tuple[Mistake | None, list[float]]:
    # Of numbers that cannot be: the one slip that may have been made with all of them, and what they are without it.
    for slip in table(__name__, "ways"):
        if _possible(meant := slip.function(*given)) and not _possible(given):
            return slip, meant
    return None, given


def _possible(shares: list[float]) -> bool:
    try:
        for name, share in zip(SHARES, shares, strict=True):
            _plausible(name, share, shares)
    except Wrong:
        return False
    return True


def _plausible(name: str, share: float, shares: list[float]) -> None:
    refuse(__name__, "any", locals())
    refuse(__name__, name, locals())


def _follows(said, shares: list[float]) -> None:
    without = dict(zip(PARTS, shares[1:], strict=True))
    if any(map(math.isnan, without.values())):
        raise Wrong("nothing-to-conclude-from", "One of the numbers that the conclusion rests on is missing.")
    least = min(without, key=without.get)
    slip = ("conclusion-against-numbers", "By your own numbers, removing another part costs more.")
    same_answer(said, least, dict.fromkeys({*PARTS} - {least}, slip))
