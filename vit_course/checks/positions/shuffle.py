"""Exercise positions.shuffle: predictions of what a shuffle of the patches leaves alone."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import worked_out


@exercise("3.1", "Predict: what a shuffle leaves alone", "A shuffle on paper", difficulty=2, minutes=8)
def shuffle(answer, parts):
    """`answer()` -> {"mean_without_table", "one_vector_for_all", "table_of_places", "rows_shuffled_too",
    "pixels_inside", "class_outputs"}: "same", "shuffled" or "different", the last one a number."""
    worked_out(__name__, answer, parts)
