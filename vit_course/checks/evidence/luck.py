"""Exercise evidence.luck: how much of a chosen head's score is the choice."""

from statistics import mean

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.experiments import choice, paired, shares

CHANCE = 0.15  # the mean area of the shapes
OPTIONS = ("the choice", "the head")


@exercise(
    "How much of a good head is luck?",
    section="Control 1: a model that knows nothing",
    difficulty=3,
    minutes=20,
    seconds=120,
)
def luck(answer):
    """`answer()` -> {"chosen": [...], "held_out": [...], "conclusion"}, five seeds or more."""
    received = named(call(answer), ("chosen", "held_out", "conclusion"))
    chosen, held_out = (shares(received[name], name, fewest=5) for name in ("chosen", "held_out"))
    paired({"chosen": chosen, "held_out": held_out})
    if chosen == held_out:
        raise Wrong("same-images", "chosen and held_out are the same: the head was scored on the images of the choice.")
    if mean(chosen) > 0.3:
        raise Wrong(
            "trained-model",
            "Heads of random weights do not score so high on the mean of five images: the model is a trained one, or "
            "these are no means.",
        )
    if not 0.12 < mean(held_out) < 0.22 or mean(chosen) < 0.13:
        raise Wrong("wrong-answer", "Chosen heads of random weights do not give these shares.")
    if mean(held_out) > mean(chosen):
        raise Wrong(
            "exchanged",
            "New images give more than those of the choice: are the lists exchanged, or is this not the chosen head?",
        )
    if mean(chosen) < 0.172:
        raise Wrong(
            "not-the-best",
            "These are shares of an average head, or of one chosen on many images; the best of 16 on five has more.",
        )
    said = choice(received["conclusion"], "conclusion", OPTIONS)
    stays = (mean(held_out) - CHANCE) / (mean(chosen) - CHANCE)
    if said != ("the head" if stays >= 0.5 else "the choice"):
        raise Wrong(
            "does-not-follow",
            "By the limit of the exercise, the conclusion is not what these numbers say.",
            [f"Of what lies above chance, {stays:.0%} stays on new images"],
        )
