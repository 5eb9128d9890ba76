"""Exercise patchify.cuts: does a wrong cut hurt a model that never knew the right one?"""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.experiments import accuracies, by_means, changed, follows

KINDS = ("right", "flipped", "strips")
WORDS = ("worse", "no clear difference", "better")


@exercise(
    "1.5",
    "Does a wrong cut hurt a model trained from scratch?",
    section="The right shape, the wrong picture",
    difficulty=2,
    minutes=15,
)
def cuts(answer, parts):
    """`answer()` -> {"right", "flipped", "strips": test accuracies, "flipped_is", "strips_is": the conclusions}."""
    received = named(call(answer), (*KINDS, "flipped_is", "strips_is"))
    found = {name: accuracies(received[name], name, lowest=0.8) for name in KINDS}
    for name in KINDS[1:]:
        changed({"right": found["right"], name: found[name]})
    for name in KINDS[1:]:
        said = f"{name}_is"
        with parts(said):
            follows(received[said], said, WORDS, by_means({"right": found["right"], name: found[name]}))
