"""What a learner reports of an experiment: numbers of several runs, and the conclusion that follows from them.

A mistake has the same name in every exercise.

    runs         reported: all of it; shares, losses, wholes: the numbers of one setting; paired, changed: of several
    again        seeds, chosen: what the runs come from; made_again: some of them, run once more by the check
    chapter      of_chapter: what a chapter's cells define, for that
    conclusions  by_ranges, by_means, by_spread: rules; follows: a conclusion by one of them; choice: one of some words
"""

from vit_course.checks.tools.experiments.again import chosen, last_digit, made_again, seeds
from vit_course.checks.tools.experiments.chapter import of_chapter
from vit_course.checks.tools.experiments.conclusions import by_means, by_ranges, by_spread, choice, follows, ranges
from vit_course.checks.tools.experiments.runs import changed, losses, paired, reported, shares, wholes

__all__ = [
    "by_means",
    "by_ranges",
    "by_spread",
    "changed",
    "choice",
    "chosen",
    "follows",
    "last_digit",
    "losses",
    "made_again",
    "of_chapter",
    "paired",
    "ranges",
    "reported",
    "seeds",
    "shares",
    "wholes",
]
