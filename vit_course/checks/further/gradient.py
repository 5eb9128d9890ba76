"""Exercise further.gradient: one gradient from those of many processes."""

import torch
import torch.nn.functional as F

from vit_course.checks.tools.mistakes import Known, Slip, wrong_functions
from vit_course.checks.tools.no_gradient import same_without_gradient


def gradient(answer, draw):
    """`answer(means, counts)`: (R, D), (R,) -> (D,)."""
    draws = []
    for _ in range(2):
        processes, width = draw.sizes(2, low=3)
        counts = torch.tensor(draw.sizes(processes, low=1, high=20))
        draws.append((draw.normal(processes, width), counts))
    mistakes, errors = wrong_functions(MISTAKES, _whole), _errors(*draws[0][0].shape)
    same_without_gradient(answer, _whole, draws, "(D,)", mistakes, errors)


def _whole(means, counts, weights=lambda counts: counts, total=lambda counts, means: counts.sum()):
    return (means * weights(counts)[:, None]).sum(dim=0) / total(counts, means)


def _errors(processes: int, width: int) -> list[Known]:
    return [
        Known(
            "must match the size|must match, but|broadcast|mat1 and mat2|size mismatch|inconsistent",
            "axes-do-not-fit",
            "The counts, one for each process, are combined with the D numbers of a gradient: the sizes do not match.",
        ),
        Known(
            rf"Received: \({processes}, {width}\)$",
            "processes-kept",
            "The gradients of the processes are still separate.",
        ),
        Known(
            r"Received: \(\)$", "one-number", "Everything is added up into a single number; a gradient has D numbers."
        ),
    ]


MISTAKES = {
    "weights": [
        Slip(
            "means-taken-for-sums",
            "The means are added and divided by the number of images, as if they were sums.",
            torch.ones_like,
        ),
        Slip(
            "counts-in-another-order",
            "The counts were sorted, so they no longer match their means.",
            lambda counts: counts.sort().values,
            lambda counts: counts.sort(descending=True).values,
        ),
        Slip("counts-of-one-less", "Each mean is multiplied by its count minus 1.", lambda counts: counts - 1),
    ],
    "total": [
        Slip(
            "never-divided",
            "This is the sum over all images: it is never divided by their number.",
            lambda counts, means: 1,
        ),
        Slip(
            "divided-by-processes",
            "The sum over all images is divided by the number of processes.",
            lambda counts, means: len(counts),
        ),
        Slip(
            "divided-twice",
            "The gradient is also divided by the number of processes, so it is too small by that factor.",
            lambda counts, means: len(counts) * counts.sum(),
        ),
        Slip(
            "divided-by-mean-count",
            "The sum over all images is divided by the mean count, not by the number of images.",
            lambda counts, means: counts.float().mean(),
        ),
        Slip(
            "divided-by-largest-count",
            "The sum over all images is divided by the largest count, not by the number of images.",
            lambda counts, means: counts.max(),
        ),
        Slip(
            "divided-by-one-less",
            "The sum over all images is divided by their number minus 1.",
            lambda counts, means: counts.sum() - 1,
        ),
        Slip(
            "divided-by-one-less",
            "The sum over all images is divided by a number in which one image of each process is missing.",
            lambda counts, means: (counts - 1).sum(),
        ),
    ],
    "result": [
        Slip(
            "counts-of-one-less",
            "One image of each process is missing, from the sums and from the number that divides them.",
            lambda means, counts: _whole(means, counts - 1),
        ),
        Slip(
            "mean-of-means",
            "This is the mean of the means: an image in a small share counts more than one in a large share.",
            lambda means, counts: means.mean(dim=0),
        ),
        Slip("sum-of-means", "The means are added, and nothing is divided.", lambda means, counts: means.sum(dim=0)),
        Slip(
            "divided-by-own-count",
            "Each mean is divided by its count again before the means are combined.",
            lambda means, counts: (means / counts[:, None]).sum(dim=0),
            lambda means, counts: (means / counts[:, None]).mean(dim=0),
        ),
        Slip(
            "softmax-of-counts",
            (
                "The weights of the means are a softmax of the counts, so the largest share gets nearly all of "
                "the weight."
            ),
            lambda means, counts: counts.float().softmax(dim=0) @ means,
        ),
        Slip(
            "weights-inverted",
            "The weights are inverted: the smallest share counts most.",
            lambda means, counts: _whole(means, 1 / counts),
            lambda means, counts: _whole(means, counts.sum() - counts),
            lambda means, counts: (means * (1 - counts / counts.sum())[:, None]).sum(dim=0),
        ),
        Slip(
            "weights-squared",
            "The counts are squared, so large shares get too much weight.",
            lambda means, counts: _whole(means, counts**2),
        ),
        Slip(
            "weights-of-roots",
            "The weights are the square roots of the counts, so large shares get too little weight.",
            lambda means, counts: _whole(means, counts.sqrt()),
        ),
        Slip(
            "largest-share-alone",
            "This is the mean of the largest share; the other processes are ignored.",
            lambda means, counts: means[counts.argmax()],
        ),
        Slip(
            "one-process-alone",
            "This is the mean of a single process; the others are ignored.",
            lambda means, counts: means[0],
            lambda means, counts: means[-1],
        ),
        Slip(
            "two-processes-alone",
            "Only the first two processes are used.",
            lambda means, counts: _whole(means[:2], counts[:2]),
        ),
        Slip(
            "one-process-missing",
            "The first or the last process is missing from the sum.",
            lambda means, counts: _whole(means[:-1], counts[:-1]),
            lambda means, counts: _whole(means[1:], counts[1:]),
            lambda means, counts: (means * counts[:, None])[:-1].sum(dim=0) / counts.sum(),
            lambda means, counts: (means * counts[:, None])[1:].sum(dim=0) / counts.sum(),
        ),
        Slip(
            "halved-in-turn",
            "The means are averaged in pairs, one after the other, so the last process gets half of the weight.",
            lambda means, counts: 0.5 ** torch.arange(len(means), 0, -1).clamp(max=len(means) - 1) @ means,
        ),
        Slip(
            "wrong-axis",
            "The sum runs over the D numbers of a gradient, which leaves one number for each process.",
            lambda means, counts: (means * counts[:, None]).sum(dim=1) / counts.sum(),
        ),
        Slip("median", "This is the median of the means.", lambda means, counts: means.median(dim=0).values),
        Slip(
            "length-lost",
            "The gradient was divided by its length: only its direction is left.",
            lambda means, counts: F.normalize(_whole(means, counts), dim=0),
        ),
    ],
}
