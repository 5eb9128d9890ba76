"""Exercise further.gradient: one gradient from those of many processes."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.checks.tools.no_gradient import any_precision
from vit_course.checks.tools.slips import Known, named_by_details


@exercise("11.1", "One gradient from many", section="One gradient from many parts", difficulty=1, minutes=5)
def gradient(answer, draw):
    """`answer(means, counts)`: (R, D), (R,) -> (D,)."""
    draws = []
    for _ in range(2):
        processes, width = draw.sizes(2, low=3)
        counts = torch.tensor(draw.sizes(processes, low=1, high=20))
        draws.append((draw.normal(processes, width), counts))
    (means, _) = draws[0]
    with named_by_details(
        Known(
            r"must match the size|must match, but|broadcast|mat1 and mat2|size mismatch|inconsistent",
            "axes-do-not-fit",
            "The counts, one a process, meet the D numbers of a gradient: the sizes do not fit.",
        ),
        Known(rf"Received: \({len(means)}, {means.shape[1]}\)$", "processes-kept", "The processes are still apart."),
        Known(r"Received: \(\)$", "one-number", "All numbers are added up to one; a gradient has D of them."),
    ):
        same_function(any_precision(answer), _whole, draws, _GRADIENTS, axes="(D,)", differentiable=False)


def _whole(means: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    return (means * counts[:, None]).sum(dim=0) / counts.sum()


def _halved_in_turn(means: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    total = means[0]
    for mean in means[1:]:
        total = (total + mean) / 2
    return total


_GRADIENTS = [
    Mistake(
        "mean-of-means",
        "This is the mean of the means: an image in a small share weighs more than one in a large share.",
        lambda means, counts: means.mean(dim=0),
    ),
    Mistake("sum-of-means", "The means are added, and nothing is divided.", lambda means, counts: means.sum(dim=0)),
    Mistake(
        "never-divided",
        "This is the sum over all images: it is never divided by their number.",
        lambda means, counts: (means * counts[:, None]).sum(dim=0),
    ),
    Mistake(
        "divided-by-processes",
        "The sum over all images is divided by the number of processes.",
        lambda means, counts: (means * counts[:, None]).mean(dim=0),
    ),
    Mistake(
        "divided-twice",
        "The gradient is divided by the number of processes as well: it is too short by that factor.",
        lambda means, counts: _whole(means, counts) / len(counts),
    ),
    Mistake(
        "means-taken-for-sums",
        "The means are added and divided by the number of images, as if they were sums.",
        lambda means, counts: means.sum(dim=0) / counts.sum(),
    ),
    Mistake(
        "divided-by-own-count",
        "Each mean is divided by its count once more before they are added.",
        lambda means, counts: (means / counts[:, None]).sum(dim=0),
    ),
    Mistake(
        "divided-by-own-count",
        "Each mean is divided by its count once more before they are averaged.",
        lambda means, counts: (means / counts[:, None]).mean(dim=0),
    ),
    Mistake(
        "softmax-of-counts",
        "The weights of the means are a softmax of the counts, so the largest share has nearly all the weight.",
        lambda means, counts: counts.float().softmax(dim=0) @ means,
    ),
    Mistake(
        "largest-share-alone",
        "This is the mean of the largest share; the other processes have no part in it.",
        lambda means, counts: means[counts.argmax()],
    ),
    Mistake(
        "first-process-alone",
        "This is what the first process has; the others have no part in it.",
        lambda means, counts: means[0],
    ),
    Mistake(
        "wrong-axis",
        "The sum runs over the D numbers of a gradient: what is left is one number for each process.",
        lambda means, counts: (means * counts[:, None]).sum(dim=1) / counts.sum(),
    ),
    Mistake(
        "axis-kept",
        "The axis of the processes is still there, with length 1.",
        lambda means, counts: _whole(means, counts)[None],
    ),
    Mistake(
        "halved-in-turn",
        "The means are averaged two by two, one after the other, so that the last process has half of the weight.",
        _halved_in_turn,
    ),
    *(
        Mistake(slug, sentence, function)
        for slug, sentence, function in (
            (
                "divided-by-mean-count",
                "The sum over all images is divided by the mean count, not by the number of images.",
                lambda means, counts: _whole(means, counts) * len(counts),
            ),
            (
                "divided-by-largest-count",
                "The sum over all images is divided by the largest count, not by the number of images.",
                lambda means, counts: _whole(means, counts) * counts.sum() / counts.max(),
            ),
            (
                "one-image-short",
                "The sum is divided by one image less than there are.",
                lambda means, counts: _whole(means, counts) * counts.sum() / (counts.sum() - 1),
            ),
            (
                "divided-by-numbers",
                "The sum over all images is divided by how many numbers the means hold.",
                lambda means, counts: _whole(means, counts) * counts.sum() / means.numel(),
            ),
            (
                "weights-inverted",
                "The weights are upside down: the smallest share counts most.",
                lambda means, counts: _whole(means, 1 / counts),
            ),
            *(
                (
                    "weights-inverted",
                    "The weight of a mean grows with the images of the others: the smallest share counts most.",
                    lambda means, counts, times=times: _whole(means, counts.sum() - counts) * times(counts),
                )
                for times in (lambda counts: 1, lambda counts: len(counts) - 1)
            ),
            (
                "weights-squared",
                "The counts are squared: large shares weigh too much.",
                lambda means, counts: _whole(means, counts**2),
            ),
            (
                "weights-of-roots",
                "The weights are the roots of the counts: large shares weigh too little.",
                lambda means, counts: _whole(means, counts.sqrt()),
            ),
            (
                "counts-in-another-order",
                "The counts were sorted, so that they belong to other means.",
                lambda means, counts: _whole(means, counts.sort().values),
            ),
            (
                "counts-in-another-order",
                "The counts were sorted, so that they belong to other means.",
                lambda means, counts: _whole(means, counts.sort(descending=True).values),
            ),
            (
                "last-process-missing",
                "The last process has no part in it.",
                lambda means, counts: _whole(means[:-1], counts[:-1]),
            ),
            (
                "last-process-missing",
                "The last process has no part in the sum, and its images are counted.",
                lambda means, counts: _whole(means[:-1], counts[:-1]) * counts[:-1].sum() / counts.sum(),
            ),
            (
                "first-process-missing",
                "The first process has no part in it.",
                lambda means, counts: _whole(means[1:], counts[1:]),
            ),
            (
                "first-process-missing",
                "The first process has no part in the sum, and its images are counted.",
                lambda means, counts: _whole(means[1:], counts[1:]) * counts[1:].sum() / counts.sum(),
            ),
            (
                "two-processes-alone",
                "Only the first two processes have a part in it.",
                lambda means, counts: _whole(means[:2], counts[:2]),
            ),
            ("last-process-alone", "This is what the last process has.", lambda means, counts: means[-1]),
            (
                "weights-rounded",
                "Every number is 0, as it is where shares are divided as whole numbers.",
                lambda means, counts: torch.zeros_like(means[0]),
            ),
            ("median", "This is the median of the means.", lambda means, counts: means.median(dim=0).values),
            (
                "length-lost",
                "The gradient was divided by its length: only its direction is left.",
                lambda means, counts: torch.nn.functional.normalize(_whole(means, counts), dim=0),
            ),
        )
    ),
]
