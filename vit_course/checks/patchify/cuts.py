"""Exercise patchify.cuts: does a wrong cut hurt a model that never knew the right one?"""

import functools

from vit_course.checks.tools import experiments
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.mistakes import Slip

KINDS = ("right", "flipped", "strips")
WORDS = ("worse", "no clear difference", "better")


def cuts(answer, draw, parts):
    """`answer()` -> {"seeds", "right", "flipped", "strips": test accuracies, "flipped_is", "strips_is"}."""
    received, runs, found = experiments.reported(answer, KINDS, "flipped_is", "strips_is", what="accuracy")
    experiments.changed(found)
    # Another instruction set changed no accuracy by more than 0.003.
    experiments.made_again(found, {"seed": runs}, _accuracy, draw, near=0.02, slips=AGAIN)
    for name in KINDS[1:]:
        said = f"{name}_is"
        with parts(said):
            experiments.follows(
                received[said], said, WORDS, experiments.by_means({"right": found["right"], name: found[name]})
            )


@functools.cache
def _accuracy(order: str, seed: int) -> float:
    (accuracy_with,) = of_chapter("01_patchify", "accuracy_with")
    return accuracy_with(order, seed)


# What other things that were measured are in place of the accuracy of a run.
AGAIN = [
    Slip(
        "errors-for-accuracies",
        "This is the share of test images that the model gets wrong.",
        lambda setting, source: 1 - _accuracy(setting, source),
    ),
]
