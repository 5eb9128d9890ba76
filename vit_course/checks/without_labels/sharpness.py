"""Exercise without_labels.sharpness: how sharp the teacher must be, compared with no training at all."""

import functools

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.experiments import choice, losses, made_again, of_chapter, ranges, reported
from vit_course.checks.tools.table import refuse

TRAINED = {"sharp": 0.04, "middle": 0.07, "equal": 0.1}  # the teacher's temperature
SETTINGS = ("untrained", *TRAINED)
READ = 0.1  # the temperature at which all are compared


@exercise(
    "11.5",
    "How sharp must the teacher be?",
    section="Student and teacher",
    difficulty=3,
    minutes=15,
    seconds=120,
)
def sharpness(answer, draw):
    """`answer()` -> {"seeds", "untrained", "sharp", "middle", "equal", "conclusion"}: nats of three seeds or more."""
    received, used, found = reported(answer, SETTINGS, "conclusion", read=losses, low=0, high=5, what="number of nats")
    said = choice(received["conclusion"], "conclusion", ("equal", "middle", "sharp", "none"))
    # TOLERANCE
    made_again(__name__, found, {"seed": used}, _told, draw, near=0.02, runs=2, only=[*TRAINED])
    made_again(__name__, found, {"seed": used}, _told, draw, near=0.02, only=["untrained"])
    gained = {name: [after - before for after, before in zip(found[name], found["untrained"], strict=True)]
              for name in TRAINED}  # fmt: skip
    right = _softest({name: min(gained[name]) > 0 for name in TRAINED})
    if said != right:
        unpaired = _softest({name: min(found[name]) > max(found["untrained"]) for name in TRAINED})
        refuse(__name__, "conclusion", locals(), ranges({f"{name} - untrained": gained[name] for name in TRAINED}))


def _softest(gains: dict[str, bool]) -> str:
    return next((name for name in reversed(TRAINED) if gains[name]), "none")


def _told(setting: str, seed: int, read: float = READ) -> float:
    (told_at,) = of_chapter("11_without_labels", "told_at")
    return told_at(_pair(setting, seed), read)


@functools.cache
def _pair(setting: str, seed: int):
    distil, untrained = of_chapter("11_without_labels", "distil", "untrained")
    return untrained(seed) if setting == "untrained" else distil(seed, teacher_temperature=TRAINED[setting])[0]
