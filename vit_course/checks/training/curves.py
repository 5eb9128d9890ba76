"""Exercise training.curves: what five loss curves say."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Slip, by_answer


def curves(answer, parts):
    """`answer()` -> {"run_a", ... "run_e", "keep_d"}: one of five options each, and an epoch."""
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND))


# Exercise training.curves: what five loss curves say.
# What the runs were: a softmax as last layer; rate 1 without warm-up and clipping; shifts and dropout; 60 training
# images; width 4 at half the rate. All on the digits, with the recipe of the chapter.
RIGHT = {
    "run_a": "softmax twice",
    "run_b": "divergence",
    "run_c": "healthy",
    "run_d": "over-fitting",
    "run_e": "under-fitting",
    "keep_d": 20,
}

BY_HAND = {
    "run_a": [
        Slip(
            "right-answers-overlooked",
            "A model that has learned too little would get far more images wrong.",
            "under-fitting",
        ),
        Slip("no-gap", "The two losses stay close together: nothing was memorised.", "over-fitting"),
        Slip("never-left-upwards", "Both losses fall from the start; neither shoots up.", "divergence"),
        Slip("floor-overlooked", "The loss levels off far above 0 although nearly all answers are correct.", "healthy"),
    ],
    "run_b": [
        Slip(
            "first-epochs-overlooked",
            "The end of the curve could be that, but the first epochs are far worse than guessing.",
            "under-fitting",
        ),
        Slip("no-gap", "The two losses stay close together: nothing was memorised.", "over-fitting"),
        Slip("loss-above-its-range", "A loss of 80 is possible only with logits that are far apart.", "softmax twice"),
        Slip("falling-taken-for-learning", "The loss falls throughout, but ends at the level of guessing.", "healthy"),
    ],
    "run_c": [
        Slip(
            "harder-images-overlooked",
            "The loss on new images is low and most answers are correct; only the training images are harder.",
            "under-fitting",
        ),
        Slip("gap-the-other-way", "There is a gap, but the training loss is the higher one.", "over-fitting"),
        Slip("never-left-upwards", "Both losses fall from the start; neither shoots up.", "divergence"),
        Slip("below-the-floor", "The loss falls far below what a second softmax allows.", "softmax twice"),
    ],
    "run_d": [
        Slip("training-loss-overlooked", "The training loss is 0: the model has fitted these images.", "under-fitting"),
        Slip("one-loss-only", "Only one of the two losses rises; the other is at 0.", "divergence"),
        Slip("below-the-floor", "The loss falls far below what a second softmax allows.", "softmax twice"),
        Slip("turn-overlooked", "The validation loss starts to rise again while the training loss is at 0.", "healthy"),
    ],
    "run_e": [
        Slip("no-gap", "The two losses stay close together: nothing was memorised.", "over-fitting"),
        Slip("never-left-upwards", "Both losses fall from the start; neither shoots up.", "divergence"),
        Slip(
            "few-right-answers",
            "Few answers are correct, so the loss is not the only thing that is poor.",
            "softmax twice",
        ),
        Slip("hardly-moved", "The loss falls, but is still close to that of guessing.", "healthy"),
    ],
    "keep_d": [
        Slip("place-for-epoch", "This is the index of a point; the points are not one epoch apart.", 1),
        Slip("end-of-the-run", "The final weights are not the best ones for images that the model has not seen.", 100),
        Slip("training-loss-chosen", "This choice follows the training loss, which says little about new images.", 50),
        Slip("stopped-too-early", "At this epoch, the validation loss is still falling.", 10),
        Slip("highest-loss", "At this epoch, the validation loss is at or near its highest.", 80),
        Slip("loss-for-epoch", "This is a loss; the exercise asks for its epoch.", 0.67),
        Slip("place-for-epoch", "This is the index of a point; the points are not one epoch apart.", 2),
    ],
}
