"""Exercise evidence.held_out: the score of a head that was chosen on other images, to be debugged."""

import torch
import torch.nn.functional as F

from vit_course.checks.tools.mistakes import Known, Slip, wrong_functions
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
    mistakes, errors = wrong_functions(MISTAKES, _chosen, pairs=2), _errors(*draws[0][0].shape)
    same_without_gradient(answer, _chosen, draws, "(n,)", mistakes, errors)


def _votes(scores):
    return scores.sum(dim=0) - scores  # (n, heads), of the other images


def _chosen(scores, votes=_votes, choose=lambda votes: votes.argmax(dim=1)):
    return scores.gather(1, choose(votes(scores))[:, None])[:, 0]  # (n,)


def _by(which, summary=lambda scores: scores.mean(dim=0)):
    # Every image is voted on by the images that `which(i, n)` names; by itself where it names none.
    return lambda scores: torch.stack([summary(scores[which(i, len(scores)) or [i]]) for i in range(len(scores))])


def _others(i, n):
    return [k for k in range(n) if k != i]


def _errors(n: int, heads: int) -> list[Known]:
    return [
        Known(
            rf"Received: \({n}, ({n}|{heads})\)$",
            "several-a-picture",
            "Each image has several scores; it should have only that of the head chosen for it.",
        ),
    ]


MISTAKES = {
    "votes": [
        Slip("chosen-on-itself", "Each image gets the head that is best on this image.", lambda s: s),
        Slip(
            "chosen-on-all",
            "The image that is scored is used in the choice of its head.",
            lambda s: s.mean(dim=0).expand(len(s), -1),
        ),
        Slip(
            "another-left-out",
            "The image that is left out of the choice is not the one that is scored.",
            lambda s: s.sum(dim=0) - s.roll(1, dims=0),
            lambda s: s.sum(dim=0) - s.roll(-1, dims=0),
        ),
        Slip(
            "own-score-counted-against",
            (
                "The whole score of an image is subtracted from the mean over all images, which holds only one "
                "n-th of it."
            ),
            lambda s: s.mean(dim=0) - s,
        ),
        Slip(
            "other-heads-vote",
            "The sum runs over the heads of one image, not over the other images.",
            lambda s: s.sum(dim=1, keepdim=True) - s,
        ),
        Slip(
            "same-image-left-out",
            (
                "One head is used for all images, chosen without the first or the last one: the others were used "
                "in that choice."
            ),
            _by(lambda i, n: [*range(1, n)]),
            _by(lambda i, n: [*range(n - 1)]),
        ),
        Slip(
            "chosen-on-half",
            "One head is chosen for all images on one half of them, so that half is scored with its own choice.",
            _by(lambda i, n: [*range(n // 2)]),
            _by(lambda i, n: [*range(n // 2, n)]),
        ),
        Slip(
            "earlier-images-alone",
            "Only the images before the scored one are used in the choice.",
            _by(lambda i, n: [*range(i)]),
            _by(lambda i, n: [*range(i)] or [*range(1, n)]),
        ),
        Slip(
            "later-images-alone",
            "Only the images after the scored one are used in the choice.",
            _by(lambda i, n: [*range(i + 1, n)]),
            lambda s: torch.stack([s[i + 1 :].mean(dim=0) for i in range(len(s))]),
        ),
        Slip(
            "one-other-image",
            "The head is chosen on only one other image, the one before or the one after.",
            _by(lambda i, n: [(i - 1) % n]),
            _by(lambda i, n: [(i + 1) % n]),
        ),
        Slip(
            "best-single-score",
            "The head is chosen by its best score on a single other image, not by all of them.",
            _by(_others, lambda others: others.amax(dim=0)),
        ),
        Slip(
            "best-heads-counted",
            "The head is the one that is best on most of the others; it should be best on their mean.",
            _by(_others, lambda others: F.one_hot(others.argmax(dim=1), others.shape[1]).sum(dim=0)),
        ),
        Slip(
            "chosen-by-median",
            "The head is chosen by the median over the other images, not by their mean.",
            _by(_others, lambda others: others.median(dim=0).values),
        ),
    ],
    "choose": [
        Slip("worst-head", "The head with the lowest score is chosen.", lambda v: v.argmin(dim=1)),
        Slip("second-best", "The head with the second-highest score is chosen.", lambda v: v.argsort(dim=1)[:, -2]),
        Slip(
            "one-choice-for-all",
            "One head is used for all images, the one that was chosen most often.",
            lambda v: v.argmax(dim=1).mode().values.expand(len(v)),
        ),
    ],
    "result": [
        Slip(
            "scored-on-the-others",
            "This is the mean or the sum of the scores on the images used for the choice.",
            lambda s: _votes(s).amax(dim=1) / (len(s) - 1),
            lambda s: _votes(s).amax(dim=1),
        ),
        Slip(
            "numbers-of-heads",
            "These are the indices of the chosen heads, not their scores.",
            lambda s: _votes(s).argmax(dim=1),
            lambda s: _votes(s).argmax(dim=1).float(),
        ),
        Slip(
            "averaged",
            "The scores are averaged; each image should have its own.",
            lambda s: _chosen(s).mean(),
            lambda s: _chosen(s).mean().expand(len(s)),
        ),
        Slip(
            "heads-taken-for-images",
            "The indices of the chosen heads are used as indices of images.",
            lambda s: s[_votes(s).argmax(dim=1), 0],
            lambda s: s[_votes(s).argmax(dim=1), torch.arange(len(s))],
            lambda s: s.gather(0, _votes(s).argmax(dim=1, keepdim=True))[:, 0],
        ),
        Slip("heads-averaged", "Each image has the mean over its heads; no head was chosen.", lambda s: s.mean(dim=1)),
        Slip(
            "half-left-unscored",
            "One head is chosen on some of the images, and those images get no score.",
            lambda s: s[len(s) // 2 :, s[: len(s) // 2].mean(dim=0).argmax()],
        ),
        Slip(
            "first-image-alone",
            "Only the first image is scored, with one head or with each of the chosen heads.",
            lambda s: _chosen(s)[0],
            lambda s: s[0, _votes(s).argmax(dim=1)],
        ),
    ],
}
