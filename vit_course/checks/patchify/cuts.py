"""Exercise patchify.cuts: does a wrong cut hurt a model that never knew the right one?"""

import functools

from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import by_means, changed, follows, reported, rerun

KINDS = ("right", "flipped", "strips")
WORDS = ("worse", "no clear difference", "better")


def cuts(answer, draw, parts):
    """`answer()` -> {"seeds", "right", "flipped", "strips": test accuracies, "flipped_is", "strips_is"}."""
    received, runs, found = reported(answer, KINDS, "flipped_is", "strips_is", what="accuracy")
    changed(found)
    # Another instruction set changed no accuracy by more than 0.003.
    rerun(found, {"seed": runs}, _accuracy, draw, near=0.02)
    for name in KINDS[1:]:
        said = f"{name}_is"
        with parts(said):
            difference = by_means({"right": found["right"], name: found[name]})
            follows(received[said], said, WORDS, difference)


@functools.cache
def _accuracy(order: str, seed: int) -> float:
    (accuracy_with,) = of_chapter("01_patchify", "accuracy_with")
    return accuracy_with(order, seed)
