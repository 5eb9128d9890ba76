"""Answers to exercise evidence.held_out."""

import numpy as np
import torch
import torch.nn.functional as F
from einops import reduce

from answers import right, unforeseen, wrong


@right("evidence.held_out")
def by_sums(scores):
    others = scores.sum(dim=0) - scores  # (n, heads)
    return scores.gather(1, others.argmax(dim=1, keepdim=True)).squeeze(1)


@right("evidence.held_out")
def in_a_loop(scores):
    found = []
    for i in range(len(scores)):
        others = torch.cat([scores[:i], scores[i + 1 :]])
        found.append(scores[i, others.mean(dim=0).argmax()])
    return torch.stack(found)


@right("evidence.held_out")
def by_a_mask(scores):
    away = 1 - torch.eye(len(scores))
    return scores[torch.arange(len(scores)), (away @ scores).argmax(dim=1)]


@right("evidence.held_out")
def numpy_in_double(scores):
    table = scores.double().numpy()
    return torch.tensor([row[np.delete(table, i, axis=0).mean(axis=0).argmax()] for i, row in enumerate(table)])


@right("evidence.held_out")
def one_hot(scores):
    others = scores.double().sum(dim=0) - scores
    return (F.one_hot(others.argmax(dim=1), scores.shape[1]) * scores).sum(dim=1)


@right("evidence.held_out")
def with_einsum(scores):
    others = reduce(scores, "n h -> 1 h", "sum") - scores
    return torch.einsum("nh,nh->n", scores, F.one_hot(others.argmax(dim=1), scores.shape[1]).float())


def _chosen_by(votes):
    return lambda scores: scores.gather(1, votes(scores).argmax(dim=1, keepdim=True))[:, 0]


def _others(scores):
    return scores.sum(dim=0) - scores


for slug, function in (
    ("chosen-on-half", lambda s: s[:, s[: len(s) // 2].mean(0).argmax()]),
    ("same-image-left-out", lambda s: s[:, s[1:].mean(0).argmax()]),
    ("another-left-out", _chosen_by(lambda s: s.sum(0) - s.roll(-1, dims=0))),
    ("own-score-counted-against", _chosen_by(lambda s: s.mean(0) - s)),
    ("other-heads-vote", _chosen_by(lambda s: s.sum(1, keepdim=True) - s)),
    ("earlier-images-alone", lambda s: torch.stack([s[i, s[: i or 1].mean(0).argmax()] for i in range(len(s))])),
    ("chosen-by-median", lambda s: torch.stack(
        [s[i, torch.cat([s[:i], s[i + 1 :]]).median(0).values.argmax()] for i in range(len(s))])),
    ("best-single-score", lambda s: torch.stack(
        [s[i, torch.cat([s[:i], s[i + 1 :]]).amax(0).argmax()] for i in range(len(s))])),
    ("one-choice-for-all", lambda s: s[:, _others(s).argmax(1).mode().values]),
    ("second-best", lambda s: s.gather(1, _others(s).argsort(1, descending=True)[:, 1:2])[:, 0]),
    ("scored-on-the-others", lambda s: _others(s).amax(1)),
    ("axis-kept", lambda s: s.gather(1, _others(s).argmax(1, keepdim=True))),
    ("several-a-picture", lambda s: s[:, _others(s).argmax(1)]),
    ("averaged", lambda s: by_sums(s).mean().expand(len(s))),
    ("heads-averaged", lambda s: s.mean(1)),
    ("first-image-alone", lambda s: s[:, _others(s).argmax(1)][0]),
    ("images-by-number", lambda s: torch.stack([by_sums(s)[i] for i in range(50)])),
):  # fmt: skip
    wrong("evidence.held_out", slug)(function)


@wrong("evidence.held_out", "chosen-on-itself")
def best_of_each(scores):
    return scores.max(dim=1).values


@wrong("evidence.held_out", "chosen-on-all")
def one_for_all(scores):
    return scores[:, scores.sum(dim=0).argmax()]


@wrong("evidence.held_out", "scored-on-the-others")
def how_it_was_chosen(scores):
    return torch.stack([torch.cat([scores[:i], scores[i + 1 :]]).mean(dim=0).max() for i in range(len(scores))])


@wrong("evidence.held_out", "worst-head")
def smallest(scores):
    return scores.gather(1, (scores.sum(dim=0) - scores).argmin(dim=1, keepdim=True))[:, 0]


@wrong("evidence.held_out", "numbers-of-heads")
def heads(scores):
    return (scores.sum(dim=0) - scores).argmax(dim=1)


@wrong("evidence.held_out", "averaged")
def one_number(scores):
    return by_sums(scores).mean()


@wrong("evidence.held_out", "best-heads-counted")
def elected(scores):
    n = len(scores)
    return torch.stack([scores[i, scores[[k for k in range(n) if k != i]].argmax(1).mode().values] for i in range(n)])


@wrong("evidence.held_out", "one-other-image")
def by_the_one_before(scores):
    return torch.stack([scores[i, scores[i - 1].argmax()] for i in range(len(scores))])


@wrong("evidence.held_out", "half-left-unscored")
def second_half(scores):
    half = len(scores) // 2
    return scores[half:, scores[:half].mean(0).argmax()]


@wrong("evidence.held_out", "first-image-alone")
def return_in_the_loop(scores):
    for i in range(len(scores)):
        return scores[i, torch.cat([scores[:i], scores[i + 1 :]]).mean(0).argmax()]


@wrong("evidence.held_out", "heads-taken-for-images")
def along_the_other_axis(scores):
    return scores.gather(0, (scores.sum(0) - scores).argmax(1, keepdim=True))[:, 0]


@unforeseen("evidence.held_out")
def first_head(scores):
    return scores[:, -1] * 0.5


@wrong("evidence.held_out", "same-image-left-out")
def first_column_of_the_table(scores):
    return scores[:, (scores.sum(0) - scores).argmax(1)][:, 0]


@wrong("evidence.held_out", "chosen-on-all")
def argmax_without_an_axis(scores):
    return scores[:, (scores.sum(0) - scores).argmax() % scores.shape[1]]


@wrong("evidence.held_out", "earlier-images-alone")
def by_those_before(scores):
    return torch.stack([scores[i, (scores[:i] if i else scores[1:]).mean(0).argmax()] for i in range(len(scores))])
