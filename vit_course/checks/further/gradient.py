"""Exercise further.gradient: one gradient from those of many processes."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, same_function


@exercise("One gradient from many", section="One gradient from many parts", difficulty=1, minutes=5)
def gradient(answer, draw):
    """`answer(means, counts)`: (R, D), (R,) -> (D,)."""
    draws = []
    for _ in range(2):
        processes, width = draw.sizes(2, low=3)
        counts = torch.tensor(draw.sizes(processes, low=1, high=20))
        draws.append((draw.normal(processes, width), counts))
    same_function(answer, _whole, draws, _GRADIENTS, axes="(D,)")


def _whole(means: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    return (means * counts[:, None]).sum(dim=0) / counts.sum()


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
]
