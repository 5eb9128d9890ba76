"""Exercise training.curves: what five loss curves say."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import values


@exercise("7.4", "Five curves", section="Reading curves", difficulty=2, minutes=8)
def curves(answer, parts):
    """`answer()` -> {"run_a", ... "run_e", "keep_d"}: one of five options each, and an epoch."""
    # What the runs were: a softmax as last layer; rate 1 without warm-up and clipping; shifts and dropout;
    # 60 training images; width 4 at half the rate. All on the digits, with the recipe of the chapter.
    no_gap = ("no-gap", "The two losses stay next to each other: nothing was learned by heart.")
    never_up = ("never-left-upwards", "The losses fall from the start; neither leaves upwards.")
    below = ("below-the-floor", "The loss comes far below what a second softmax allows.")
    same_answers(
        call(answer),
        {
            "run_a": "softmax twice",
            "run_b": "divergence",
            "run_c": "healthy",
            "run_d": "over-fitting",
            "run_e": "under-fitting",
            "keep_d": 20,
        },
        parts,
        mistakes={
            "run_a": {
                "under-fitting": (
                    "right-answers-overlooked",
                    "A model that has learned too little would not read nearly all images right.",
                ),
                "over-fitting": no_gap,
                "divergence": never_up,
                "healthy": ("floor-overlooked", "The loss flattens far above 0 though nearly all answers are right."),
            },
            "run_b": {
                "under-fitting": (
                    "first-epochs-overlooked",
                    "The end could be that; the first epochs are far worse than a guess.",
                ),
                "over-fitting": no_gap,
                "softmax twice": ("loss-above-its-range", "A loss of 80 would need logits far apart."),
                "healthy": ("falling-taken-for-learning", "The loss falls all the way and ends where a guess is."),
            },
            "run_c": {
                "under-fitting": (
                    "harder-images-overlooked",
                    "The loss on new images is low and most answers are right; only the training images are harder.",
                ),
                "over-fitting": ("gap-the-other-way", "There is a gap, but the training loss is the higher one."),
                "divergence": never_up,
                "softmax twice": below,
            },
            "run_d": {
                "under-fitting": ("training-loss-overlooked", "The training loss is 0: these images are fitted."),
                "divergence": ("one-loss-only", "Only one of the two losses climbs; the other is at 0."),
                "softmax twice": below,
                "healthy": ("turn-overlooked", "The validation loss turns and climbs while the training loss is at 0."),
            },
            "run_e": {
                "over-fitting": no_gap,
                "divergence": never_up,
                "softmax twice": ("few-right-answers", "Few answers are right: it is not the loss alone that is poor."),
                "healthy": ("hardly-moved", "The loss falls, but has hardly left that of a guess."),
            },
            "keep_d": values(__name__, "mistakes", locals()),
        },
    )
