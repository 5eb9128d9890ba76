"""Exercise words.recall: how often one of the first k images fits the sentence."""

import torch

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Mistake


def recall(answer, draw):
    """`answer(cosines, true, k)`: (S, n), bool (S, n), int -> (), the share of sentences."""
    draws = [_drawn(draw, 23, 11, 3), _drawn(draw, 31, 7, 2), _drawn(draw, 19, 9, 1)]
    same_function(answer, _share, draws, MISTAKES, differentiable=False)


def _drawn(draw, sentences: int, images: int, k: int) -> tuple:
    cosines = 2 * draw.uniform(sentences, images) - 1
    true = draw.uniform(sentences, images) < 0.35
    true[0] = False  # a sentence that no image fits
    true[1] = True
    # Some that are found first, some among the first k, some only after them.
    order = cosines.argsort(dim=1, descending=True)
    true[2, order[2]] = torch.arange(images) == k - 1
    true[3, order[3]] = torch.arange(images) == k
    true[4, order[4]] = torch.arange(images) >= images - 2
    return cosines, true, k


def _share(
    cosines,
    true,
    k,
    best=lambda cosines, k: cosines.topk(k, dim=1).indices,
    judge=lambda fits: fits.any(dim=1),
    count=lambda hits: hits.float().mean(),
):
    """The right answer, and with one of its steps replaced a wrong one."""
    return count(judge(true.gather(1, best(cosines, k))))


MISTAKES = [
    Mistake(
        "lowest-for-highest",
        "These are the images with the lowest cosines.",
        {"best": lambda cosines, k: cosines.topk(k, dim=1, largest=False).indices},
    ),
    Mistake(
        "best-alone",
        "Only the most similar image is looked at, whatever k is.",
        {"best": lambda cosines, k: cosines.topk(1, dim=1).indices},
    ),
    Mistake(
        "kth-alone",
        "Only the last of the k images is looked at.",
        {"best": lambda cosines, k: cosines.topk(k, dim=1).indices[:, -1:]},
    ),
    Mistake(
        "one-too-many",
        "One image more than k is looked at.",
        {"best": lambda cosines, k: cosines.topk(k + 1, dim=1).indices},
    ),
    Mistake(
        "sizes-for-cosines",
        "The cosines lost their sign before the largest were chosen.",
        {"best": lambda cosines, k: cosines.abs().topk(k, dim=1).indices},
    ),
    Mistake(
        "all-must-fit",
        "A sentence counts only where all of its k images fit.",
        {"judge": lambda fits: fits.all(dim=1)},
    ),
    Mistake(
        "share-that-fits",
        "This is the share of the images found that fit, not of the sentences for which one does.",
        {"judge": lambda fits: fits.float()},
    ),
    Mistake(
        "none-fits",
        "The sentences are counted for which no image fits.",
        {"judge": lambda fits: ~fits.any(dim=1)},
    ),
    Mistake(
        "counted-not-shared",
        "This is a number of sentences, not a share of them.",
        {"count": lambda hits: hits.float().sum()},
    ),
    Mistake(
        "percent",
        "This is in percent; the exercise asks for a share.",
        {"count": lambda hits: 100 * hits.float().mean()},
    ),
    Mistake(
        "images-for-sentences",
        "For each image its best sentences were looked at, not for each sentence its best images.",
        lambda cosines, true, k: _share(cosines.T, true.T, k),
    ),
    Mistake(
        "only-possible-sentences",
        "Sentences that fit no image at all were left out of the share.",
        lambda cosines, true, k: _share(cosines[true.any(dim=1)], true[true.any(dim=1)], k),
    ),
]
