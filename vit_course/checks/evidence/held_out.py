"""Exercise evidence.held_out: the score of a head that was chosen on other images, to be debugged."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, same_function


def chosen_on_others(scores: torch.Tensor) -> torch.Tensor:
    """(n, heads) -> (n,): for each picture, the score of the head that is best on all others."""
    others = scores.sum(dim=0) - scores  # (n, heads)
    return scores.gather(1, others.argmax(dim=1, keepdim=True))[:, 0]


@exercise("A fair score, debugged", section="Control 1: a model that knows nothing", difficulty=2, minutes=10)
def held_out(answer, draw):
    """`answer(scores)`: (n, heads) -> (n,), each image's score for the head that is best on the other images."""
    draws = []
    for _ in range(3):
        images, heads = draw.sizes(2, 4)
        scores = draw.uniform(images, heads)
        # One image pulls the mean of all to a head that is not the best on the others.
        scores[:, 0] = 0.8 + 0.1 * scores[:, 0]
        scores[0, 1], scores[1:, 1] = 10.0, 0.7 + 0.1 * scores[1:, 1]
        scores[:, 2] *= 1 + torch.arange(images)
        draws.append((scores,))

    def of_all(scores):
        return scores[:, scores.mean(dim=0).argmax()]

    def sum_only(scores):
        return (scores.sum(dim=0) - scores).amax(dim=1) / (len(scores) - 1)

    def without_the_next(scores):
        others = scores.sum(dim=0) - scores.roll(1, dims=0)
        return scores.gather(1, others.argmax(dim=1, keepdim=True))[:, 0]

    def index(scores):
        return (scores.sum(dim=0) - scores).argmax(dim=1)

    same_function(
        answer,
        chosen_on_others,
        draws,
        axes="(n,)",
        differentiable=False,
        mistakes=[
            Mistake("chosen-on-itself", "Each image gets the head that is best on this image.", lambda s: s.amax(1)),
            Mistake("chosen-on-all", "The head is chosen on all images, also on the one that is scored.", of_all),
            Mistake("scored-on-the-others", "This is the score on the images of the choice.", sum_only),
            Mistake("another-left-out", "The image that is left out of the choice is not the one that is scored.",
                    without_the_next),
            Mistake("worst-head", "The head is the one that is worst on the other images.",
                    lambda s: s.gather(1, (s.sum(0) - s).argmin(1, keepdim=True))[:, 0]),
            Mistake("numbers-of-heads", "These are the chosen heads' numbers, not their scores.", index),
            Mistake("averaged", "The scores are averaged, where each image has its own.",
                    lambda s: chosen_on_others(s).mean()),
        ],
    )  # fmt: skip
