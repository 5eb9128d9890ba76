"""Exercise start.removed: which part the clock reader can least do without, judged by the learner's own numbers."""

from collections.abc import Callable
from itertools import permutations

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.by_hand import same_answer
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.numbers import real
from vit_course.checks.tools.table import values

# What a thousand steps give: from, to, and what it means if a share lies below or above. Seeds and processors move the
# shares by some hundredths.
PLAUSIBLE = {
    "whole": (
        (0.55, 0.99),
        ("not-trained", "The whole model reads far fewer clocks than it does after 1000 steps."),
        ("too-good", "No model of this size reads so many after 1000 steps."),
    ),
    "without_positions": (
        (0.08, 0.5),
        ("more-than-positions-missing", "Without positions it still reads many more clocks than by guessing."),
        ("positions-still-there", "This is too good for a model without positions: they may have been trained."),
    ),
    "without_attention": (
        (0.0, 0.04),
        None,  # no share is below 0
        ("attention-still-there", "This is too good for a model without attention: look at every block."),
    ),
    "without_mlp": (
        (0.3, 0.97),
        ("more-than-mlp-missing", "Without the MLP it reads many more clocks: something else is missing too."),
        ("too-good", "No model of this size reads so many after 1000 steps."),
    ),
}
PARTS = ("positions", "attention", "mlp")
GUESSING = 0.04  # a blind guess is right once in 144; no training ends by luck above this


@exercise("0.3", "Take a part out", section="A whole ViT in 40 lines", difficulty=2, minutes=13)
def removed(answer, parts):
    """`answer()` -> four shares of clocks read right, the part most needed, and why."""
    received = named(call(answer), (*PLAUSIBLE, "most_needed", "because"))
    given, meant, slip = _meant(received)
    shares = {}
    for name, (limits, low, high) in PLAUSIBLE.items():
        with parts(name):
            if received[name] is None:
                raise Wrong("returned-nothing", "This is None where a number is expected.")
            share = real(received[name])
            if slip and meant[name] != share:
                raise slip
            if 10 < share <= 100:
                shares[name] = share / 100
                raise Wrong("percent", "This is a number of percent; a share lies between 0 and 1.")
            if not 0 <= share <= 1:  # nor is NaN
                raise Wrong("wrong-answer", f"{share:g} is no share: a share lies between 0 and 1.")
            shares[name] = share
            if not limits[0] <= share <= limits[1]:
                raise Wrong(*(low if share < limits[0] else high))
            if name == "without_mlp" and not slip and share >= shares.get("whole", 1):
                raise Wrong("mlp-still-there", "This is no worse than the whole model: look at every block.")
    with parts("most_needed"):
        if not (slip and slip.mistake == "parts-exchanged" and _concluded(received["most_needed"], given)):
            numbers = given if slip and slip.mistake in ("nothing-changed", "parts-not-trained") else meant
            _follows(received["most_needed"], numbers if slip else shares)
    with parts("because"):
        same_answer(received["because"], "b", values(__name__, "because"))


def _one_cause(given: dict) -> tuple[dict, Wrong] | None:
    # Numbers that no change of all four makes possible, and that are wrong for one reason; None for each of them.
    without = {f"without_{part}": given[f"without_{part}"] for part in PARTS}
    unknown = dict.fromkeys(without)
    if len(set(given.values())) == 1:
        sentence = "Four times the same number, as of one model that is measured four times."
        return given | unknown, Wrong("nothing-changed", sentence)
    if 1 < max(without.values()) <= 10 and given["whole"] < min(without.values()):
        return dict.fromkeys(given), Wrong("losses-for-shares", "These look like losses: a share lies between 0 and 1.")
    if max(without.values()) <= GUESSING < given["whole"]:
        sentence = "Without any of the parts these models guess, as models do that were not trained."
        return given | unknown | {"without_attention": given["without_attention"]}, Wrong("parts-not-trained", sentence)
    return None


_WAYS: list[tuple[str, str, Callable]] = [
    (
        "percent",
        "This is a number of percent; a share lies between 0 and 1.",
        lambda given: {name: share / 100 for name, share in given.items()},
    ),
    (
        "count-for-share",
        "This is a number of clocks; a share lies between 0 and 1.",
        lambda given: {name: share / 1000 for name, share in given.items()},
    ),
    (
        "errors-for-shares",
        "This looks like the share of clocks that are read wrongly.",
        lambda given: {name: 1 - share for name, share in given.items()},
    ),
    (
        "loss-for-share",
        "This looks like what is lost without the part; the share that is still read right is asked for.",
        lambda given: {name: share if name == "whole" else given["whole"] - share for name, share in given.items()},
    ),
    *(
        (
            "parts-exchanged",
            "The numbers look right with those of some parts exchanged.",
            lambda given, order=order: {"whole": given["whole"]} | {
                f"without_{part}": given[f"without_{other}"] for part, other in zip(PARTS, order, strict=True)
            },
        )
        for order in permutations(PARTS)
        if order != PARTS
    ),
]  # fmt: skip


def _meant(received) -> tuple[dict, dict, Wrong | None]:
    # The four numbers; what they are if one slip was made with all of them; the slip, or None where none was.
    try:
        given = {name: real(received[name]) for name in PLAUSIBLE}
    except Wrong:
        return {}, {}, None
    if not _possible(given):
        if found := _one_cause(given):
            return given, *found
        for slug, sentence, change in _WAYS:
            if _possible(change(given)):
                return given, change(given), Wrong(slug, sentence)
    return given, given, None


def _possible(shares: dict) -> bool:
    return all(limits[0] <= shares[name] <= limits[1] for name, (limits, *_) in PLAUSIBLE.items())


def _concluded(said, shares: dict) -> bool:
    try:
        _follows(said, shares)
    except Wrong:
        return False
    return True


def _follows(said, found: dict) -> None:
    shares = {part: found.get(f"without_{part}") for part in PARTS}
    if None in shares.values():
        raise Wrong(
            "nothing-to-conclude-from", "One of the numbers that the conclusion rests on is missing, or is no share."
        )
    least = min(shares, key=shares.get)
    others = [part for part in PARTS if part != least]
    slip = ("conclusion-against-numbers", "On your own numbers, another part costs more when it is missing.")
    same_answer(said, least, dict.fromkeys(others, slip))
