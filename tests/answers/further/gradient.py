"""Answers to exercise further.gradient."""

import numpy as np
import torch
import torch.nn.functional as F
from einops import einsum, rearrange, reduce

from answers import UNKNOWN, Answers

answers = Answers("further.gradient")

answers.edits(
    ("wrong-axis", "dim=0", "dim=1"),
    ("divided-by-largest-count", "counts.sum()", "counts.max()"),
)


@answers.right
def shares_of_the_images(means, counts):
    return counts / counts.sum() @ means


@answers.right
def by_einops(means, counts):
    return reduce(means * rearrange(counts, "r -> r 1"), "r d -> d", "sum") / counts.sum()


@answers.right
def by_a_linear_layer(means, counts):
    return F.linear(counts / counts.sum(), means.T)


@answers.right
def every_image_has_its_mean(means, counts):
    return means.repeat_interleave(counts, dim=0).mean(dim=0)


@answers.right
def in_a_loop(means, counts):
    total, images = torch.zeros_like(means[0]), 0
    for mean, count in zip(means, counts, strict=True):
        total = total + mean * count
        images += count
    return total / images


@answers.right
def running_mean(means, counts):
    mean, images = torch.zeros_like(means[0]), 0
    for one, count in zip(means, counts, strict=True):
        images += count
        mean = mean + (one - mean) * count / images
    return mean


@answers.right
def with_einops(means, counts):
    return einsum(means, counts.float(), "r d, r -> d") / counts.sum()


@answers.right
def with_numpy(means, counts):
    return torch.from_numpy(np.average(means.numpy(), axis=0, weights=counts.numpy()))


@answers.wrong("mean-of-means")
def mean_of_means(means, counts):
    return means.mean(dim=0)


@answers.wrong("never-divided")
def never_divided(means, counts):
    return (means * counts[:, None]).sum(dim=0)


@answers.wrong("processes-kept")
def processes_kept(means, counts):
    return means * counts[:, None] / counts.sum()


@answers.wrong("axes-do-not-fit")
def axes_do_not_fit(means, counts):
    return (means * counts).sum(dim=0) / counts.sum()


@answers.wrong("halved-in-turn")
def halved_in_turn(means, counts):
    total = means[0]
    for mean in means[1:]:
        total = (total + mean) / 2
    return total


@answers.wrong(UNKNOWN)
def rounded(means, counts):
    found = (means * counts[:, None]).sum(dim=0) / counts.sum()
    return found.round()
