"""Exercise evidence.predict: predictions of what the maps cannot know."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, by_answer


def predict(answer, parts):
    """`answer()` -> {"head", "mlp_2", "values_4", "values_4_logits", "patch_rows_4_logits", "patch_rows_3_logits"}."""
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND))


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
        Mistake("maps-follow-the-head", "This assumes that the maps depend on the logits that the head computes.", 5),
        Mistake(
            "last-map-follows-the-head", "This assumes that the last map depends on a layer that comes after it.", 1
        ),
        Mistake(
            "maps-follow-the-head",
            "This assumes that some maps depend on the head, which comes after them all.",
            2,
            3,
            4,
        ),
    ],
    "mlp_2": [
        Mistake(
            "backwards-in-the-model", "This lets a change reach layers that have already run when it happens.", 5, 4
        ),
        Mistake("map-after-its-own-mlp", "This assumes that the attention of a block comes after its MLP.", 3),
        Mistake("one-layer-only", "This lets the change reach the map of one layer and then stop.", 1),
    ],
    "values_4": [
        Mistake(
            "backwards-in-the-model",
            "This lets a change reach layers that have already run when it happens.",
            2,
            3,
            4,
            5,
        ),
        Mistake("values-in-the-weights", "This assumes that the weights of a layer are computed from its values.", 1),
    ],
    "values_4_logits": [
        Mistake("map-for-the-layer", "This assumes that a layer with the same map gives the same output.", False),
    ],
    "patch_rows_4_logits": [
        Mistake("read-from-all-tokens", "This assumes that the class is computed from all tokens at the end.", True),
    ],
    "patch_rows_3_logits": [
        Mistake(
            "class-row-is-all", "This assumes that the row of the class token is the only one that is ever used.", False
        ),
    ],
}
