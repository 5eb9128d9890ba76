"""Answers to exercise evidence.held_out."""

import torch

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


@unforeseen("evidence.held_out")
def first_head(scores):
    return scores[:, -1] * 0.5
