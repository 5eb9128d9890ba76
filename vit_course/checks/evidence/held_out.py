"""Exercise evidence.held_out: the score of a head that was chosen on other images, to be debugged."""

import torch
import torch.nn.functional as F

from vit_course.checks.tools.mistakes import Mistake, bugs_repaired
from vit_course.checks.tools.no_gradient import same_without_gradient


def held_out(answer, draw):
    """`answer(scores)`: (n, heads) -> (n,), each image's score for the head that is best on the other images."""
    draws = []
    for _ in range(2):
        images, heads = draw.sizes(2, 4)
        scores = draw.uniform(images, heads)
        # One image pulls the mean of all to a head that is not the best on the others.
        scores[:, 0] = 0.8 + 0.1 * scores[:, 0]
        scores[0, 1], scores[1:, 1] = 10.0, 0.7 + 0.1 * scores[1:, 1]
        scores[:, 2] *= 1 + torch.arange(images)
        draws.append((scores,))
    # Without a pull, on many heads, two ways to choose seldom agree on every image.
    draws += [(draw.uniform(*draw.sizes(2, 5, 12)),) for _ in range(4)]
    # Head 1 is best by a hair, and for each of the first four images only by that image's own score.
    close = 0.02 * draw.uniform(5, 6)
    close[:, :2] += 5
    close[:, 1] += torch.tensor([1, 1, 1, 1, -3.8])
    draws.append((close,))
    same_without_gradient(answer, _chosen, draws, "(n,)", MISTAKES)


def _votes(scores):
    return scores.sum(dim=0) - scores  # (n, heads), of the other images


def _chosen(scores, votes=_votes, choose=lambda votes: votes.argmax(dim=1)):
    """The right answer, and with one of its steps replaced a wrong one."""
    return scores.gather(1, choose(votes(scores))[:, None])[:, 0]  # (n,)


MISTAKES = [
    Mistake(
        "still-faulty",
        bugs_repaired(0, 1),
        {"votes": lambda s: s.mean(dim=0).expand(len(s), -1)},
    ),
    Mistake("chosen-on-itself", "Each image gets the head that is best on this image.", {"votes": lambda s: s}),
    Mistake(
        "same-image-left-out",
        (
            "One head is used for all images, chosen without the first or the last one: the others were used "
            "in that choice."
        ),
        {"votes": lambda s: s[1:].mean(dim=0).expand(len(s), -1)},
        {"votes": lambda s: s[:-1].mean(dim=0).expand(len(s), -1)},
    ),
    Mistake(
        "chosen-on-half",
        "One head is chosen for all images on one half of them, so that half is scored with its own choice.",
        {"votes": lambda s: s[: len(s) // 2].mean(dim=0).expand(len(s), -1)},
        {"votes": lambda s: s[len(s) // 2 :].mean(dim=0).expand(len(s), -1)},
    ),
    Mistake(
        "one-other-image",
        "The head is chosen on only one other image, the one before or the one after.",
        {"votes": lambda s: s.roll(1, dims=0)},
        {"votes": lambda s: s.roll(-1, dims=0)},
    ),
    Mistake(
        "best-heads-counted",
        "The head is the one that is best on most of the others; it should be best on their mean.",
        {"votes": lambda s: _votes(F.one_hot(s.argmax(dim=1), s.shape[1]))},
    ),
    Mistake("worst-head", "The head with the lowest score is chosen.", {"choose": lambda v: v.argmin(dim=1)}),
    Mistake(
        "scored-on-the-others",
        "This is the mean or the sum of the scores on the images used for the choice.",
        lambda s: _votes(s).amax(dim=1) / (len(s) - 1),
        lambda s: _votes(s).amax(dim=1),
    ),
    Mistake(
        "numbers-of-heads",
        "These are the indices of the chosen heads, not their scores.",
        lambda s: _votes(s).argmax(dim=1),
    ),
    Mistake(
        "averaged",
        "The scores are averaged; each image should have its own.",
        lambda s: _chosen(s).mean(),
        lambda s: _chosen(s).mean().expand(len(s)),
    ),
    Mistake("heads-averaged", "Each image has the mean over its heads; no head was chosen.", lambda s: s.mean(dim=1)),
    Mistake(
        "half-left-unscored",
        "One head is chosen on some of the images, and those images get no score.",
        lambda s: s[len(s) // 2 :, s[: len(s) // 2].mean(dim=0).argmax()],
    ),
]
