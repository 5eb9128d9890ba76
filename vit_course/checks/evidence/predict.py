"""Exercise evidence.predict: predictions of what the maps cannot know."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Slip, by_answer


def predict(answer, parts):
    """`answer()` -> {"head", "mlp_2", "values_4", "values_4_logits", "patch_rows_4_logits", "patch_rows_3_logits"}."""
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND))


# Exercise evidence.predict: predictions of what the maps cannot know.
RIGHT = {
    "head": 0,  # no map comes after the head
    "mlp_2": 2,  # those of layers 3 and 4
    "values_4": 0,  # the maps of a layer come before its values
    "values_4_logits": True,  # the values are what is averaged
    "patch_rows_4_logits": False,  # after the last layer the patches' outputs are not read
    "patch_rows_3_logits": True,  # layer 4 reads them
}

BY_HAND = {
    "head": [
        Slip("maps-follow-the-head", "This assumes that the maps depend on the logits that the head computes.", 5),
        Slip("last-map-follows-the-head", "This assumes that the last map depends on a layer that comes after it.", 1),
        Slip(
            "maps-follow-the-head",
            "This assumes that some maps depend on the head, which comes after them all.",
            2,
            3,
            4,
        ),
    ],
    "mlp_2": [
        Slip("backwards-in-the-model", "This lets a change reach layers that have already run when it happens.", 5, 4),
        Slip("map-after-its-own-mlp", "This assumes that the attention of a block comes after its MLP.", 3),
        Slip("one-layer-only", "This lets the change reach the map of one layer and then stop.", 1),
        Slip("mlp-changes-no-map", "This assumes that the maps depend only on the attention layers.", 0),
    ],
    "values_4": [
        Slip(
            "backwards-in-the-model",
            "This lets a change reach layers that have already run when it happens.",
            2,
            3,
            4,
            5,
        ),
        Slip("values-in-the-weights", "This assumes that the weights of a layer are computed from its values.", 1),
    ],
    "values_4_logits": [
        Slip("map-for-the-layer", "This assumes that a layer with the same map gives the same output.", False),
    ],
    "patch_rows_4_logits": [
        Slip("read-from-all-tokens", "This assumes that the class is computed from all tokens at the end.", True),
    ],
    "patch_rows_3_logits": [
        Slip(
            "class-row-is-all", "This assumes that the row of the class token is the only one that is ever used.", False
        ),
    ],
}
