"""Exercise evidence.held_out: the score of a head that was chosen on other images, to be debugged."""

import torch

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
    n, heads = draws[0][0].shape
    same_without_gradient(__name__, answer, _chosen, draws, "(n,)", seen=locals())


def _votes(scores):
    return scores.sum(dim=0) - scores  # (n, heads), of the other images


def _chosen(scores, votes=_votes, choose=lambda votes: votes.argmax(dim=1)):
    return scores.gather(1, choose(votes(scores))[:, None])[:, 0]  # (n,)


def _by(which, summary=lambda scores: scores.mean(dim=0)):
    # Every image is voted on by the images that `which(i, n)` names; by itself where it names none.
    return lambda scores: torch.stack([summary(scores[which(i, len(scores)) or [i]]) for i in range(len(scores))])


def _others(i, n):
    return [k for k in range(n) if k != i]
