"""Exercise without_labels.sharpness: how sharp the teacher must be, compared with no training at all."""

import functools

from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import changed, choice, losses, made_again, ranges, reported
from vit_course.checks.tools.mistakes import Slip, refuse

TRAINED = {"sharp": 0.04, "middle": 0.07, "equal": 0.1}  # the teacher's temperature
SETTINGS = ("untrained", *TRAINED)
READ = 0.1  # the temperature at which all are compared


def sharpness(answer, draw):
    """`answer()` -> {"seeds", "untrained", "sharp", "middle", "equal", "conclusion"}: nats of three seeds or more."""
    received, used, found = reported(answer, SETTINGS, "conclusion", read=losses, low=0, high=5, what="number of nats")
    said = choice(received["conclusion"], "conclusion", (*TRAINED, "none"))
    changed(found)
    before = found["untrained"]
    gained = {name: [b - a for a, b in zip(before, found[name], strict=True)] for name in TRAINED}
    right = _softest({name: min(gained[name]) > 0 for name in TRAINED})
    if said != right:
        unpaired = _softest({name: min(found[name]) > max(before) for name in TRAINED})
        refuse(
            CONCLUSION,
            dict(said=said, gained=gained, unpaired=unpaired),
            ranges({f"{name} - untrained": gained[name] for name in TRAINED}),
        )
    # Two decimals are asked for, rounded or cut off. Other instruction sets, two threads, or weights that differ by a
    # millionth changed these numbers by 0.00003 at most.
    made_again(found, {"seed": used}, _told, draw, near=0.01, slips=AGAIN)


def _softest(gains: dict[str, bool]) -> str:
    return next((name for name in reversed(TRAINED) if gains[name]), "none")


def _chapter() -> tuple:
    return of_chapter("11_without_labels", "distil", "untrained", "told", "told_at")


def _told(setting: str, seed: int, read: float | None = READ) -> float:
    """At one temperature for all, or as in the chapter."""
    *_, told, told_at = _chapter()
    return told_at(_pair(setting, seed), read) if read else told(_pair(setting, seed))


@functools.cache
def _pair(setting: str, seed: int):
    distil, untrained, *_ = _chapter()
    return untrained(seed) if setting == "untrained" else distil(seed, teacher_temperature=TRAINED[setting])[0]


# What slips give in place of the number of one run.
AGAIN = [
    Slip(
        "own-temperature",
        "Each teacher is read at its own temperature; the exercise asks for 0.1, for all alike.",
        lambda setting, source: _told(setting, source, None),
        lambda setting, source: _told(setting, source, TRAINED.get(setting, 0.04)),
    ),
    Slip(
        "exchanged",
        "The numbers of 'sharp' and 'equal' are exchanged.",
        lambda setting, source: _told({"sharp": "equal", "equal": "sharp"}.get(setting, setting), source),
    ),
]

CONCLUSION = [
    Slip(
        "seeds-not-paired",
        (
            "This follows if the ranges of all seeds are compared; the rule compares two numbers of the same seed "
            "each time."
        ),
        lambda said, unpaired: said == unpaired,
    ),
    Slip(
        "more-than-the-numbers-say",
        "With {said!r}, at least one run tells no more than the untrained network of its seed.",
        lambda said, gained: said != "none" and min(gained[said]) <= 0,
    ),
    Slip(
        "too-careful",
        "There is a setting with which every run tells more than the untrained network of its seed.",
        lambda said: said == "none",
    ),
    Slip(
        "too-careful", "With a softer setting, too, every run tells more than the untrained network of its seed.", True
    ),
]
