"""Exercise patchify.cuts: does a wrong cut hurt a model that never knew the right one?"""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.compared_runs import accuracies, conclusion_follows, entries

KINDS = ("right", "flipped", "strips")


@exercise(
    "Does a wrong cut hurt a model trained from scratch?",
    section="The right shape, the wrong picture",
    difficulty=2,
    minutes=15,
)
def cuts(answer, draw, parts):
    """`answer()` -> {"right", "flipped", "strips": test accuracies, "flipped_is", "strips_is": the conclusions}."""
    received = entries(call(answer), (*KINDS, "flipped_is", "strips_is"))
    found = {name: accuracies(received[name], name, low=0.8) for name in KINDS}
    for name in KINDS[1:]:
        with parts(f"{name}_is"):
            conclusion_follows(received[f"{name}_is"], f"{name}_is", found[name], found["right"])
