"""What a learner reports of an experiment: numbers of several runs, and the conclusion that follows from them.

A mistake has the same name in every exercise.

    runs         shares, accuracies, losses: the numbers of one setting; paired, changed: of several settings
    known        recognised: a slip, by the numbers that the course's own pictures and seeds give with it
    conclusions  by_ranges, by_means, by_spread: rules; follows: a conclusion by one of them; choice: one of some words
"""

from vit_course.checks.tools.experiments.conclusions import by_means, by_ranges, by_spread, choice, follows, ranges
from vit_course.checks.tools.experiments.known import recognised
from vit_course.checks.tools.experiments.runs import accuracies, changed, losses, paired, shares

__all__ = [
    "accuracies",
    "by_means",
    "by_ranges",
    "by_spread",
    "changed",
    "choice",
    "follows",
    "losses",
    "paired",
    "ranges",
    "recognised",
    "shares",
]
