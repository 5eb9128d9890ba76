"""Exercise evidence.held_out: the score of a head that was chosen on other images, to be debugged."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.no_gradient import same_without_gradient


def chosen_on_others(scores: torch.Tensor) -> torch.Tensor:
    """(n, heads) -> (n,): for each picture, the score of the head that is best on all others."""
    others = scores.sum(dim=0) - scores  # (n, heads)
    return scores.gather(1, others.argmax(dim=1, keepdim=True))[:, 0]


@exercise("9.2", "A fair score, debugged", section="Control 1: a model that knows nothing", difficulty=2, minutes=10)
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
    n, heads = draws[0][0].shape
    same_without_gradient(__name__, answer, chosen_on_others, draws, "(n,)", right=_chosen, seen=locals())


def _chosen(scores, votes=lambda s: s.sum(dim=0) - s, choose=lambda v: v.argmax(dim=1)):
    # votes: (n, heads) -> (n, heads), what decides for each image; choose: -> (n,), the heads.
    return scores.gather(1, choose(votes(scores))[:, None])[:, 0]


def _by_summary(summary):
    # For each image, what the summary makes of the other images' scores.
    def votes(scores):
        n = len(scores)
        return torch.stack([summary(scores[[i for i in range(n) if i != left_out]]) for left_out in range(n)])

    return votes


def _some(which):
    # Every image is chosen for by the images that `which(i, n)` names; by its own score where it names none.
    def votes(scores):
        n = len(scores)
        return torch.stack([scores[which(i, n) or [i]].mean(dim=0) for i in range(n)])

    return votes


def _every(rows):
    return lambda s: s[rows].mean(dim=0).expand(len(s), -1)
