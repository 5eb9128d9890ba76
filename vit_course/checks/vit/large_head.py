"""Exercise vit.large_head: an experiment of the learner's with the scale of the head."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.two_settings import two_settings


@exercise("Does a large head slow learning?", section="How it starts", difficulty=2, minutes=12)
def large_head(answer, draw):
    """`answer()` -> {"small": [a loss a seed], "large": [...], "conclusion": "faster", "slower" or "not decided"}."""
    # After 25 steps on ten images; a head of standard deviation 1 starts near 13.
    two_settings(call(answer), "small", "large", "faster", "slower", low=1e-4, high=14, what="loss")
