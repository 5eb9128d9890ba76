"""Exercise training.curves: what five loss curves say."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, by_answer


def curves(answer, parts):
    """`answer()` -> {"run_a", ... "run_e", "keep_d"}: one of five options each, and an epoch."""
    same_answers(call(answer), RIGHT, parts, by_answer(BY_HAND))


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

# Of a run, each other option has a sentence, also where nobody chose it.
# would mislead: without a sentence, it would be called no option.
BY_HAND = {
    "run_a": [
        Mistake(
            "right-answers-overlooked",
            "A model that has learned too little would get far more images wrong.",
            "under-fitting",
        ),
        Mistake("no-gap", "The two losses stay close together: nothing was memorised.", "over-fitting"),
        Mistake("never-left-upwards", "Both losses fall from the start; neither shoots up.", "divergence"),
        Mistake(
            "floor-overlooked", "The loss levels off far above 0 although nearly all answers are correct.", "healthy"
        ),
    ],
    "run_b": [
        Mistake(
            "first-epochs-overlooked",
            "The end of the curve could be that, but the first epochs are far worse than guessing.",
            "under-fitting",
        ),
        Mistake("no-gap", "The two losses stay close together: nothing was memorised.", "over-fitting"),
        Mistake(
            "loss-above-its-range", "A loss of 80 is possible only with logits that are far apart.", "softmax twice"
        ),
        Mistake(
            "falling-taken-for-learning", "The loss falls throughout, but ends at the level of guessing.", "healthy"
        ),
    ],
    "run_c": [
        Mistake(
            "harder-images-overlooked",
            "The loss on new images is low and most answers are correct; only the training images are harder.",
            "under-fitting",
        ),
        Mistake("gap-the-other-way", "There is a gap, but the training loss is the higher one.", "over-fitting"),
        Mistake("never-left-upwards", "Both losses fall from the start; neither shoots up.", "divergence"),
        Mistake("below-the-floor", "The loss falls far below what a second softmax allows.", "softmax twice"),
    ],
    "run_d": [
        Mistake(
            "training-loss-overlooked", "The training loss is 0: the model has fitted these images.", "under-fitting"
        ),
        Mistake("one-loss-only", "Only one of the two losses rises; the other is at 0.", "divergence"),
        Mistake("below-the-floor", "The loss falls far below what a second softmax allows.", "softmax twice"),
        Mistake(
            "turn-overlooked", "The validation loss starts to rise again while the training loss is at 0.", "healthy"
        ),
    ],
    "run_e": [
        Mistake("no-gap", "The two losses stay close together: nothing was memorised.", "over-fitting"),
        Mistake("never-left-upwards", "Both losses fall from the start; neither shoots up.", "divergence"),
        Mistake(
            "few-right-answers",
            "Few answers are correct, so the loss is not the only thing that is poor.",
            "softmax twice",
        ),
        Mistake("hardly-moved", "The loss falls, but is still close to that of guessing.", "healthy"),
    ],
    "keep_d": [
        Mistake("place-for-epoch", "This is the index of a point; the points are not one epoch apart.", 1, 2),
        Mistake(
            "end-of-the-run", "The final weights are not the best ones for images that the model has not seen.", 100
        ),
        Mistake(
            "training-loss-chosen", "This choice follows the training loss, which says little about new images.", 50
        ),
        Mistake("stopped-too-early", "At this epoch, the validation loss is still falling.", 10),
    ],
}
