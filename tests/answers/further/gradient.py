"""Answers to exercise further.gradient."""

import functools

import numpy as np
import torch
import torch.nn.functional as F
from einops import rearrange, reduce

from answers import right, unforeseen, wrong


@right("further.gradient")
def sums_over_count(means, counts):
    return (means * counts[:, None]).sum(dim=0) / counts.sum()


@right("further.gradient")
def as_a_product(means, counts):
    return (counts / counts.sum()) @ means


@right("further.gradient")
def image_by_image(means, counts):
    return means.repeat_interleave(counts, dim=0).mean(dim=0)


@right("further.gradient")
def in_a_loop(means, counts):
    total, images = torch.zeros_like(means[0]), 0
    for mean, count in zip(means, counts, strict=True):
        total = total + mean * count
        images += count
    return total / images


@right("further.gradient")
def einsum(means, counts):
    return torch.einsum("rd,r->d", means, counts.float()) / counts.sum()


@right("further.gradient")
def running(means, counts):
    mean, images = means[0], counts[0]
    for other, count in zip(means[1:], counts[1:], strict=True):
        images = images + count
        mean = mean + (other - mean) * count / images
    return mean


@right("further.gradient")
def with_reduce(means, counts):
    return reduce(means * rearrange(counts, "r -> r 1"), "r d -> d", "sum") / counts.sum()


@right("further.gradient")
def as_a_layer(means, counts):
    return F.linear(counts / counts.sum(), means.T)


def _gradient(mistake, function, name):
    function.__name__ = name
    wrong("further.gradient", mistake)(function)


_gradient("mean-of-means", lambda means, counts: means.mean(0), "average")
_gradient("sum-of-means", lambda means, counts: means.sum(0), "all_reduce_alone")
_gradient("never-divided", lambda means, counts: counts.float() @ means, "summed")
_gradient("divided-by-processes", lambda means, counts: counts.float() @ means / len(means), "by_world")
_gradient("divided-twice", lambda means, counts: (counts / counts.sum()) @ means / len(means), "ddp_on_top")
_gradient("means-taken-for-sums", lambda means, counts: means.sum(0) / counts.sum(), "means_as_sums")
_gradient("divided-by-own-count", lambda means, counts: (means.T / counts).sum(1), "divided_again")
_gradient("divided-by-own-count", lambda means, counts: (means.T / counts).mean(1), "divided_again_and_averaged")
_gradient("softmax-of-counts", lambda means, counts: counts.float().softmax(0) @ means, "soft")
_gradient("largest-share-alone", lambda means, counts: means[counts.argmax()], "largest")
_gradient("first-process-alone", lambda means, counts: means[0], "main_process")
_gradient("wrong-axis", lambda means, counts: (means * counts[:, None]).sum(-1) / counts.sum(), "other_axis")
_gradient("axis-kept", lambda means, counts: (counts / counts.sum())[None] @ means, "kept")
_gradient("axes-do-not-fit", lambda means, counts: (means * counts).sum(0) / counts.sum(), "no_axis_added")
_gradient("returned-nothing", lambda means, counts: None, "nothing")


_gradient(
    "divided-by-mean-count", lambda means, counts: counts.float() @ means / counts.float().mean(), "by_mean_count"
)
_gradient("divided-by-largest-count", lambda means, counts: counts.float() @ means / counts.max(), "by_largest")
_gradient("weights-inverted", lambda means, counts: (1 / counts) @ means / (1 / counts).sum(), "inverted")
_gradient("weights-squared", lambda means, counts: (counts**2).float() @ means / (counts**2).sum(), "squared")
_gradient("weights-rounded", lambda means, counts: (means * (counts // counts.sum())[:, None]).sum(0), "whole_numbers")
_gradient(
    "counts-in-another-order", lambda means, counts: sums_over_count(means, counts.sort().values), "sorted_counts"
)
_gradient("last-process-missing", lambda means, counts: sums_over_count(means[:-1], counts[:-1]), "last_missing")
_gradient("one-image-short", lambda means, counts: (means * counts[:, None]).sum(0) / (counts.sum() - 1), "one_short")
_gradient("processes-kept", lambda means, counts: means * (counts / counts.sum())[:, None], "not_added")
_gradient("one-number", lambda means, counts: (means * counts[:, None]).sum() / counts.sum(), "everything_added")
_gradient("length-lost", lambda means, counts: F.normalize(counts.float() @ means, dim=0), "unit_length")
_gradient("median", lambda means, counts: means.median(dim=0).values, "the_median")


@right("further.gradient")
def numpy_average(means, counts):
    return torch.from_numpy(np.average(means.numpy(), axis=0, weights=counts.numpy()))  # float64


@right("further.gradient")
def without_a_graph(means, counts):
    return sums_over_count(means, counts).detach()


@wrong("further.gradient", "halved-in-turn")
def running_mean(means, counts):
    return functools.reduce(lambda total, mean: (total + mean) / 2, means)


@unforeseen("further.gradient")
def rounded(means, counts):
    return sums_over_count(means, counts).round()


@wrong("further.gradient", "two-processes-alone")
def two_written_down(means, counts):
    return (means[0] * counts[0] + means[1] * counts[1]) / (counts[0] + counts[1])


@wrong("further.gradient", "first-process-missing")
def loop_from_one(means, counts):
    return sum(means[r] * counts[r] for r in range(1, len(means))) / counts.sum()


@wrong("further.gradient", "weights-inverted")
def weighted_by_the_rest(means, counts):
    return (means * ((counts.sum() - counts) / counts.sum())[:, None]).sum(0)
