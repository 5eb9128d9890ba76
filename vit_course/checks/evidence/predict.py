"""Exercise evidence.predict: predictions of what the maps cannot know."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import worked_out


@exercise("9.3", "What the maps cannot know", "Does the attention matter?", difficulty=3, minutes=10)
def predict(answer, parts):
    """`answer()` -> {"head", "mlp_2", "values_4", "values_4_logits", "patch_rows_4_logits", "patch_rows_3_logits"}."""
    worked_out(__name__, answer, parts)
