"""Exercise words.recall: how often one of the first k images fits the sentence."""

import torch

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Known, Slip, named_by_details, wrong_functions


def recall(answer, draw):
    """`answer(cosines, true, k)`: (S, n), bool (S, n), int -> (), the share of sentences."""
    draws = [_drawn(draw, 23, 11, 3), _drawn(draw, 31, 7, 2), _drawn(draw, 19, 9, 1)]
    with named_by_details(
        Known(r"Received: \(23,\)$", "share-for-each-sentence", "There is a number for each sentence, not one share."),
        Known(r"Received: \(11,\)$", "share-for-each-image", "There is a number for each image, not one share."),
    ):
        same_function(answer, _share, draws, wrong_functions(MISTAKES, _share), differentiable=False)


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


MISTAKES = {
    "best": [
        Slip(
            "lowest-for-highest",
            "These are the images with the lowest cosines.",
            lambda cosines, k: cosines.topk(k, dim=1, largest=False).indices,
        ),
        Slip(
            "best-alone",
            "Only the most similar image is looked at, whatever k is.",
            lambda cosines, k: cosines.topk(1, dim=1).indices,
        ),
        Slip(
            "kth-alone",
            "Only the last of the k images is looked at.",
            lambda cosines, k: cosines.topk(k, dim=1).indices[:, -1:],
        ),
        Slip(
            "one-too-many",
            "One image more than k is looked at.",
            lambda cosines, k: cosines.topk(k + 1, dim=1).indices,
        ),
        Slip(
            "first-columns",
            "The first k images are looked at, not the k most similar ones.",
            lambda cosines, k: torch.arange(k).expand(len(cosines), k),
        ),
        Slip(
            "all-images",
            "Every image is looked at, whatever k is.",
            lambda cosines, k: cosines.argsort(dim=1),
        ),
        Slip(
            "sizes-for-cosines",
            "The cosines lost their sign before the largest were chosen.",
            lambda cosines, k: cosines.abs().topk(k, dim=1).indices,
        ),
    ],
    "judge": [
        Slip(
            "all-must-fit",
            "A sentence counts only where all of its k images fit.",
            lambda fits: fits.all(dim=1),
        ),
        Slip(
            "share-that-fits",
            "This is the share of the images found that fit, not of the sentences for which one does.",
            lambda fits: fits.float(),
        ),
        Slip(
            "none-fits",
            "The sentences are counted for which no image fits.",
            lambda fits: ~fits.any(dim=1),
        ),
    ],
    "count": [
        Slip(
            "counted-not-shared", "This is a number of sentences, not a share of them.", lambda hits: hits.float().sum()
        ),
        Slip("percent", "This is in percent; the exercise asks for a share.", lambda hits: 100 * hits.float().mean()),
    ],
    "result": [
        Slip(
            "images-for-sentences",
            "For each image its best sentences were looked at, not for each sentence its best images.",
            lambda cosines, true, k: _share(cosines.T, true.T, k),
        ),
        Slip(
            "only-possible-sentences",
            "Sentences that fit no image at all were left out of the share.",
            lambda cosines, true, k: _share(cosines[true.any(dim=1)], true[true.any(dim=1)], k),
        ),
        Slip(
            "chance",
            "This is the share of all pairs that fit, whatever the cosines are.",
            lambda cosines, true, k: true.float().mean(),
        ),
    ],
}
