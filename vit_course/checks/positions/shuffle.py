"""Exercise positions.shuffle: predictions of what a shuffle of the patches leaves alone."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Slip, by_answer


def shuffle(answer, parts):
    """`answer()` -> {"mean_without_table", "one_vector_for_all", "table_of_places", "rows_shuffled_too",
    "pixels_inside", "class_outputs"}: "same", "shuffled" or "different", the last one a number.
    """
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND))


# Exercise positions.shuffle: predictions of what a shuffle of the patches leaves alone.
RIGHT = {
    "mean_without_table": "same",  # a sum has no order
    "one_vector_for_all": "shuffled",  # one row for all is no place
    "table_of_places": "different",  # a patch meets the row of another place
    "rows_shuffled_too": "shuffled",  # the same sums, in another order
    "pixels_inside": "different",  # each pixel has weights of its own
    "class_outputs": 12,  # 4! orders, and those that differ by the two equal rows alone are one
}

BY_HAND = {
    "mean_without_table": [
        Slip("mean-sees-order", "This would mean that a sum depends on the order of what is added.", "different"),
        Slip("mean-has-no-rows", "A mean is one vector: it has no rows that could be shuffled.", "shuffled"),
    ],
    "one_vector_for_all": [
        Slip(
            "any-table-is-places", "This assumes that any table tells places apart, whatever its rows are.", "different"
        ),
        Slip(
            "outputs-stay-behind", "This would mean that an output stays in its row when its patch leaves it.", "same"
        ),
    ],
    "table_of_places": [
        Slip("rows-travel-along", "This would mean that a patch takes its row of the table with it.", "shuffled"),
        Slip(
            "outputs-stay-behind", "This would mean that an output stays in its row when its patch leaves it.", "same"
        ),
    ],
    "rows_shuffled_too": [
        Slip(
            "rows-known-by-number",
            "This would mean that the encoder knows the number of a row, not only the sum in that row.",
            "different",
        ),
        Slip(
            "outputs-stay-behind", "This would mean that an output stays in its row when its patch leaves it.", "same"
        ),
    ],
    "pixels_inside": [
        Slip("pixels-as-a-set", "This would mean that the patch embedding gives every pixel equal weights.", "same"),
        Slip("patches-moved", "This would mean that patches have moved, but every patch kept its place.", "shuffled"),
    ],
    "class_outputs": [
        Slip("equal-rows-told-apart", "This counts orders that differ only where two rows are equal.", 24),
        Slip("order-never-seen", "This would be the number without any table.", 1),
        Slip("one-pair-only", "This looks at the two patches on the equal rows and leaves the others in place.", 2),
        Slip("four-places-as-three", "This treats the two equal rows as one place, but two patches use them.", 6),
    ],
}
