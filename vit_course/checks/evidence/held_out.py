"""Exercise evidence.held_out: the score of a head that was chosen on other images, to be debugged."""

import torch
import torch.nn.functional as F

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.checks.tools.no_gradient import any_precision
from vit_course.checks.tools.slips import Known, named_by_details, slips


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
    with named_by_details(
        Known(r"Received: \(\d+, 1\)$", "axis-kept", "An axis of length 1 is left over."),
        Known(rf"Received: \({n}, ({n}|{heads})\)$", "several-a-picture",
              "Each image has the scores of several heads: it was to have that of the head chosen for it."),
        Known("IndexError: .*out of (range|bounds)", "images-by-number", "The number of images is written as a number, "
              "and here are fewer."),
    ):  # fmt: skip
        same_function(any_precision(answer), chosen_on_others, draws, _MISTAKES, axes="(n,)", differentiable=False)


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


_MISTAKES = [
    Mistake("other-heads-vote", "The sum runs over the heads of one image, and not over the other images.",
            lambda s: _chosen(s, lambda s: s.sum(dim=1, keepdim=True) - s)),
    *slips(
        _chosen,
        {
            "votes": [
                (lambda s: s, "chosen-on-itself", "Each image gets the head that is best on this image."),
                (lambda s: s.mean(dim=0).expand(len(s), -1), "chosen-on-all",
                 "The image that is scored takes part in the choice of its head."),
                (lambda s: s.sum(dim=0) - s.roll(1, dims=0), "another-left-out",
                 "The image that is left out of the choice is not the one that is scored."),
                (lambda s: s.sum(dim=0) - s.roll(-1, dims=0), "another-left-out",
                 "The image that is left out of the choice is not the one that is scored."),
                (lambda s: s.mean(dim=0) - s, "own-score-counted-against",
                 "From the mean over all, an image's whole score is taken away, where it had only one n-th of it."),
                # Also where each image has a choice of its own, and one of these is used for all.
                (_every(slice(1, None)), "same-image-left-out", "One head is used for all images, that of the choice "
                 "without the first: the others took part in it."),
                (_every(slice(0, -1)), "same-image-left-out", "One head is used for all images, that of the choice "
                 "without the last: the others took part in it."),
                (lambda s: s[: len(s) // 2].mean(dim=0).expand(len(s), -1), "chosen-on-half",
                 "One head is chosen for all, on the first half of the images, which then vote on themselves."),
                (lambda s: s[len(s) // 2 :].mean(dim=0).expand(len(s), -1), "chosen-on-half",
                 "One head is chosen for all, on the last half of the images, which then vote on themselves."),
                (_some(lambda i, n: list(range(i))), "earlier-images-alone", "Only the images before the one that is "
                 "scored take part in the choice."),
                (_some(lambda i, n: list(range(i)) or list(range(1, n))), "earlier-images-alone", "Only the images "
                 "before the one that is scored take part in the choice."),
                (_some(lambda i, n: list(range(i + 1, n))), "later-images-alone", "Only the images behind the one "
                 "that is scored take part in the choice."),
                (lambda s: torch.stack([s[i + 1 :].mean(dim=0) for i in range(len(s))]), "later-images-alone",
                 "Only the images behind the one that is scored take part in the choice."),
                (_by_summary(lambda others: others.amax(dim=0)), "best-single-score",
                 "The head is chosen by its best score on a single other image, not by all of them."),
                (_by_summary(lambda others: F.one_hot(others.argmax(dim=1), others.shape[1]).sum(dim=0)),
                 "best-heads-counted", "The head is the one that is best on most of the others; it is to be best on "
                 "their mean."),
                (_some(lambda i, n: [(i - 1) % n]), "one-other-image", "The head is chosen on one other image alone, "
                 "the one before."),
                (_some(lambda i, n: [(i + 1) % n]), "one-other-image", "The head is chosen on one other image alone, "
                 "the next."),
                (_by_summary(lambda others: others.median(dim=0).values), "chosen-by-median",
                 "The head is chosen by the median over the other images, not by their mean."),
            ],
            "choose": [
                (lambda v: v.argmin(dim=1), "worst-head", "The head with the lowest score is taken."),
                (lambda v: v.argsort(dim=1)[:, -2], "second-best", "The head with the second highest score is taken."),
            ],
        },
    ),
    Mistake("scored-on-the-others", "This is the score on the images of the choice.",
            lambda s: (s.sum(dim=0) - s).amax(dim=1) / (len(s) - 1)),
    Mistake("scored-on-the-others", "This is the sum of the scores on the images of the choice.",
            lambda s: (s.sum(dim=0) - s).amax(dim=1)),
    Mistake("numbers-of-heads", "These are the chosen heads' numbers, not their scores.",
            lambda s: (s.sum(dim=0) - s).argmax(dim=1)),
    Mistake("numbers-of-heads", "These are the chosen heads' numbers, not their scores.",
            lambda s: (s.sum(dim=0) - s).argmax(dim=1).float()),
    Mistake("one-choice-for-all", "One head is used for all images, the one that was chosen most often.",
            lambda s: s[:, (s.sum(dim=0) - s).argmax(dim=1).mode().values]),
    Mistake("averaged", "The scores are averaged, where each image has its own.", lambda s: chosen_on_others(s).mean()),
    Mistake("averaged", "The scores are averaged, where each image has its own.",
            lambda s: chosen_on_others(s).mean().expand(len(s))),
    Mistake("heads-taken-for-images", "The numbers of the chosen heads are used as numbers of images.",
            lambda s: s[(s.sum(dim=0) - s).argmax(dim=1), 0]),
    Mistake("heads-taken-for-images", "The numbers of the chosen heads are used as numbers of images.",
            lambda s: s[(s.sum(dim=0) - s).argmax(dim=1), torch.arange(len(s))]),
    Mistake("heads-taken-for-images", "The numbers of the chosen heads are used as numbers of images.",
            lambda s: s.gather(0, (s.sum(dim=0) - s).argmax(dim=1, keepdim=True))[:, 0]),
    Mistake("heads-averaged", "Each image has the mean over its heads; no head was chosen.", lambda s: s.mean(dim=1)),
    Mistake("first-image-alone", "There is one number, that of the first image.", lambda s: chosen_on_others(s)[0]),
    Mistake("half-left-unscored", "One head is chosen on some of the images, and these have no score.",
            lambda s: s[len(s) // 2 :, s[: len(s) // 2].mean(dim=0).argmax()]),
    Mistake("first-image-alone", "The scores are those of the first image alone, with the heads chosen for all.",
            lambda s: s[0, (s.sum(dim=0) - s).argmax(dim=1)]),
]  # fmt: skip
