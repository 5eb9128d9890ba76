"""Exercise positions.shuffle: predictions of what a shuffle of the patches leaves alone."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, by_answer


def shuffle(answer, parts):
    """`answer()` -> {"mean_without_table", "one_vector_for_all", "table_of_places", "rows_shuffled_too",
    "pixels_inside", "class_outputs"}: "same", "shuffled" or "different", the last one a number.
    """
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND))


RIGHT = {
    "mean_without_table": "same",  # a sum has no order
    "one_vector_for_all": "shuffled",  # one row for all is no place
    "table_of_places": "different",  # a patch meets the row of another place
    "rows_shuffled_too": "shuffled",  # the same sums, in another order
    "pixels_inside": "different",  # each pixel has weights of its own
    "class_outputs": 12,  # 4! orders, and those that differ by the two equal rows alone are one
}

STAYS_BEHIND = Mistake(
    "outputs-stay-behind", "This would mean that an output stays in its row when its patch leaves it.", "same"
)

BY_HAND = {
    "mean_without_table": [
        Mistake("mean-sees-order", "This would mean that a sum depends on the order of what is added.", "different"),
        Mistake("mean-has-no-rows", "A mean is one vector: it has no rows that could be shuffled.", "shuffled"),
    ],
    "one_vector_for_all": [
        Mistake(
            "any-table-is-places", "This assumes that any table tells places apart, whatever its rows are.", "different"
        ),
        STAYS_BEHIND,
    ],
    "table_of_places": [
        Mistake("rows-travel-along", "This would mean that a patch takes its row of the table with it.", "shuffled"),
        STAYS_BEHIND,
    ],
    "rows_shuffled_too": [
        Mistake(
            "rows-known-by-number",
            "This would mean that the encoder knows the number of a row, not only the sum in that row.",
            "different",
        ),
        STAYS_BEHIND,
    ],
    "pixels_inside": [
        Mistake("pixels-as-a-set", "This would mean that the patch embedding gives every pixel equal weights.", "same"),
        Mistake(
            "patches-moved", "This would mean that patches have moved, but every patch kept its place.", "shuffled"
        ),
    ],
    "class_outputs": [
        Mistake("equal-rows-told-apart", "This counts orders that differ only where two rows are equal.", 24),
        Mistake("order-never-seen", "This would be the number without any table.", 1),
        Mistake("one-pair-only", "This looks at the two patches on the equal rows and leaves the others in place.", 2),
        Mistake("four-places-as-three", "This treats the two equal rows as one place, but two patches use them.", 6),
    ],
}
