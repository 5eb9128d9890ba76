"""Exercise without_labels.sharpness: how sharp the teacher must be, compared with no training at all."""

import functools

from vit_course.checks.report import Wrong
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import changed, choice, losses, ranges, reported, rerun
from vit_course.checks.tools.mistakes import Mistake

TRAINED = {"sharp": 0.04, "middle": 0.07, "equal": 0.1}  # the teacher's temperature
SETTINGS = ("untrained", *TRAINED)
READ = 0.1  # the temperature at which all are compared


def sharpness(answer, draw):
    """`answer()` -> {"seeds", "untrained", "sharp", "middle", "equal", "conclusion"}: nats of three seeds or more."""
    received, seeds, found = reported(answer, SETTINGS, "conclusion", read=losses, low=0, high=5, what="number of nats")
    conclusion = choice(received["conclusion"], "conclusion", (*TRAINED, "none"))
    changed(found)
    _follows(conclusion, found)
    # Two decimals are asked for, rounded or cut off. Other instruction sets, two threads, or weights that differ by a
    # millionth changed these numbers by 0.00003 at most.
    rerun(found, {"seed": seeds}, _told_at_one_temperature, draw, near=0.01, mistakes=MISTAKES)


def _follows(conclusion: str, found: dict[str, list[float]]) -> None:
    before = found["untrained"]
    gained = {name: [b - a for a, b in zip(before, found[name], strict=True)] for name in TRAINED}
    if conclusion == _softest({name: min(gained[name]) > 0 for name in TRAINED}):
        return
    details = ranges({f"{name} - untrained": gained[name] for name in TRAINED})
    if conclusion == _softest({name: min(found[name]) > max(before) for name in TRAINED}):
        sentence = "This follows if ranges of all seeds are compared; the rule compares the two numbers of each seed."
        raise Wrong("seeds-not-paired", sentence, details)
    if conclusion != "none" and min(gained[conclusion]) <= 0:
        sentence = f"With {conclusion!r}, at least one run tells no more than the untrained network of its seed."
        raise Wrong("more-than-the-numbers-say", sentence, details)
    softer = "There is a setting" if conclusion == "none" else "There is a softer setting"
    sentence = f"{softer} with which every run tells more than the untrained network of its seed."
    raise Wrong("too-careful", sentence, details)


def _softest(passes: dict[str, bool]) -> str:
    return next((name for name in reversed(TRAINED) if passes[name]), "none")


def _told_at_one_temperature(setting: str, seed: int) -> float:
    (told_at,) = of_chapter("11_without_labels", "told_at")
    return told_at(_pair(setting, seed), READ)


def _told_at_its_own(setting: str, seed: int) -> float:
    (told,) = of_chapter("11_without_labels", "told")
    return told(_pair(setting, seed))


def _exchanged(setting: str, seed: int) -> float:
    return _told_at_one_temperature({"sharp": "equal", "equal": "sharp"}.get(setting, setting), seed)


@functools.cache
def _pair(setting: str, seed: int):
    distil, untrained = of_chapter("11_without_labels", "distil", "untrained")
    return untrained(seed) if setting == "untrained" else distil(seed, teacher_temperature=TRAINED[setting])[0]


MISTAKES = [
    Mistake(  # taught
        "own-temperature",
        "Each teacher is read at its own temperature; the exercise asks for 0.1, for all alike.",
        _told_at_its_own,
    ),
    Mistake("exchanged", "The numbers of 'sharp' and 'equal' are exchanged.", _exchanged),
]
