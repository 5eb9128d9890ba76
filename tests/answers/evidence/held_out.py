"""Answers to exercise evidence.held_out."""

import numpy as np
import torch
import torch.nn.functional as F
from einops import reduce

from answers import UNKNOWN, Answers

answers = Answers("evidence.held_out")

answers.edits(
    ("worst-head", "argmax", "argmin"),
    (UNKNOWN, "sum", "mean"),
)


@answers.right
def one_hot(scores):
    others = reduce(scores, "n h -> 1 h", "sum") - scores
    chosen = F.one_hot(others.argmax(dim=1), scores.shape[1]).float()
    return torch.einsum("nh,nh->n", scores, chosen)


@answers.right
def in_a_loop(scores):
    found = []
    for i in range(len(scores)):
        others = torch.cat([scores[:i], scores[i + 1 :]])
        found.append(scores[i, others.mean(dim=0).argmax()])
    return torch.stack(found)


@answers.right
def in_numpy(scores):
    table = scores.double().numpy()
    return torch.tensor([row[np.delete(table, i, axis=0).mean(axis=0).argmax()] for i, row in enumerate(table)])


@answers.wrong("still-faulty")
def not_repaired(scores):
    others = scores.mean(dim=0)
    head = others.argmax()
    return scores[:, head]


@answers.wrong("half-left-unscored")
def second_half(scores):
    half = len(scores) // 2
    return scores[half:, scores[:half].mean(0).argmax()]


@answers.wrong("numbers-of-heads")
def heads(scores):
    others = scores.sum(dim=0) - scores
    return others.argmax(dim=1)


@answers.wrong(UNKNOWN)
def median(scores):
    found = []
    for i in range(len(scores)):
        others = torch.cat([scores[:i], scores[i + 1 :]])
        found.append(scores[i, others.median(dim=0).values.argmax()])
    return torch.stack(found)
