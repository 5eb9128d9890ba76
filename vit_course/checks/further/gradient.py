"""Exercise further.gradient: one gradient from those of many processes."""

import torch

from vit_course.checks.tools.no_gradient import same_without_gradient


def gradient(answer, draw):
    """`answer(means, counts)`: (R, D), (R,) -> (D,)."""
    draws = []
    for _ in range(2):
        processes, width = draw.sizes(2, low=3)
        counts = torch.tensor(draw.sizes(processes, low=1, high=20))
        draws.append((draw.normal(processes, width), counts))
    (means, _) = draws[0]
    same_without_gradient(__name__, answer, _whole, draws, "(D,)", seen=locals())


def _whole(means, counts, weights=lambda counts: counts, total=lambda counts, means: counts.sum()):
    return (means * weights(counts)[:, None]).sum(dim=0) / total(counts, means)
