"""Exercise encoder.warm_up: an experiment of the learner's, and whether the conclusion follows from its numbers."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.two_settings import two_settings


@exercise("Does a warm-up help?", section="Which one trains?", difficulty=2, minutes=14)
def warm_up(answer, draw):
    """`answer()` -> {"without": [a loss a seed], "with": [...], "conclusion": "helps", "hurts" or "not decided"}."""
    # Guessing has the loss ln 10 = 2.3; a run that diverges may be far above.
    two_settings(call(answer), "without", "with", "helps", "hurts", low=0.05, high=20, what="loss")
