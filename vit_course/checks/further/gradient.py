"""Exercise further.gradient: one gradient from those of many processes."""

import torch

from vit_course.checks.tools.mistakes import Known, Mistake
from vit_course.checks.tools.no_gradient import same_without_gradient


def gradient(answer, draw):
    """`answer(means, counts)`: (R, D), (R,) -> (D,)."""
    draws = []
    for _ in range(2):
        processes, width = draw.sizes(2, low=3)
        counts = torch.tensor(draw.sizes(processes, low=1, high=20))
        draws.append((draw.normal(processes, width), counts))
    same_without_gradient(answer, whole_gradient, draws, "(D,)", MISTAKES, _errors(*draws[0][0].shape))


def whole_gradient(means, counts, weights=lambda counts: counts, total=lambda counts: counts.sum()):
    """The right gradient, and with one of the steps replaced a wrong one."""
    return (means * weights(counts)[:, None]).sum(dim=0) / total(counts)


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
    ]


MISTAKES = [
    Mistake(
        "counts-in-another-order",
        "The counts were sorted, so they no longer match their means.",
        {"weights": lambda counts: counts.sort().values},
        {"weights": lambda counts: counts.sort(descending=True).values},
    ),
    Mistake(
        "counts-of-one-less", "Each mean is multiplied by its count minus 1.", {"weights": lambda counts: counts - 1}
    ),
    Mistake(
        "never-divided",
        "This is the sum over all images: it is never divided by their number.",
        {"total": lambda counts: 1},
    ),
    Mistake(
        "divided-by-processes",
        "The sum over all images is divided by the number of processes.",
        {"total": len},
    ),
    Mistake(
        "divided-by-largest-count",
        "The sum over all images is divided by the largest count, not by the number of images.",
        {"total": lambda counts: counts.max()},
    ),
    Mistake(
        "divided-by-one-less",
        "The sum over all images is divided by their number minus 1.",
        {"total": lambda counts: counts.sum() - 1},
    ),
    Mistake(
        "divided-by-one-less",
        "The sum over all images is divided by a number in which one image of each process is missing.",
        {"total": lambda counts: (counts - 1).sum()},
    ),
    Mistake(
        "counts-of-one-less",
        "One image of each process is missing, from the sums and from the number that divides them.",
        lambda means, counts: whole_gradient(means, counts - 1),
    ),
    Mistake(
        "mean-of-means",
        "This is the mean of the means: an image in a small share counts more than one in a large share.",
        lambda means, counts: means.mean(dim=0),
    ),
    Mistake("sum-of-means", "The means are added, and nothing is divided.", lambda means, counts: means.sum(dim=0)),
    Mistake(
        "divided-by-own-count",
        "Each mean is divided by its count again before the means are combined.",
        lambda means, counts: (means / counts[:, None]).sum(dim=0),
        lambda means, counts: (means / counts[:, None]).mean(dim=0),
    ),
    Mistake(
        "softmax-of-counts",
        "The weights of the means are a softmax of the counts, so the largest share gets nearly all of the weight.",
        lambda means, counts: counts.float().softmax(dim=0) @ means,
    ),
    Mistake(
        "weights-inverted",
        "The weights are inverted: the smallest share counts most.",
        lambda means, counts: whole_gradient(means, 1 / counts),
        lambda means, counts: whole_gradient(means, counts.sum() - counts),
        lambda means, counts: (means * (1 - counts / counts.sum())[:, None]).sum(dim=0),
    ),
    Mistake(
        "weights-squared",
        "The counts are squared, so large shares get too much weight.",
        lambda means, counts: whole_gradient(means, counts**2),
    ),
    Mistake(
        "weights-of-roots",
        "The weights are the square roots of the counts, so large shares get too little weight.",
        lambda means, counts: whole_gradient(means, counts.sqrt()),
    ),
    Mistake(
        "largest-share-alone",
        "This is the mean of the largest share; the other processes are ignored.",
        lambda means, counts: means[counts.argmax()],
    ),
    Mistake(
        "two-processes-alone",
        "Only the first two processes are used.",
        lambda means, counts: whole_gradient(means[:2], counts[:2]),
    ),
    Mistake(
        "one-process-missing",
        "The first or the last process is missing from the sum.",
        lambda means, counts: whole_gradient(means[:-1], counts[:-1]),
        lambda means, counts: whole_gradient(means[1:], counts[1:]),
        lambda means, counts: (means * counts[:, None])[:-1].sum(dim=0) / counts.sum(),
        lambda means, counts: (means * counts[:, None])[1:].sum(dim=0) / counts.sum(),
    ),
    Mistake(
        "halved-in-turn",
        "The means are averaged in pairs, one after the other, so the last process gets half of the weight.",
        lambda means, counts: 0.5 ** torch.arange(len(means), 0, -1).clamp(max=len(means) - 1) @ means,
    ),
    Mistake(
        "wrong-axis",
        "The sum runs over the D numbers of a gradient, which leaves one number for each process.",
        lambda means, counts: (means * counts[:, None]).sum(dim=1) / counts.sum(),
    ),
    Mistake("median", "This is the median of the means.", lambda means, counts: means.median(dim=0).values),
]
