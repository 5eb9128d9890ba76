"""Answers to exercise without_labels.masking."""

import numpy as np
import torch

from answers import UNKNOWN, Answers
from vit_course.training.masked import random_masking

answers = Answers("without_labels.masking")

answers.edits(
    ("hidden-for-visible", "(~hidden).nonzero", "(hidden).nonzero"),
    (UNKNOWN, "(hidden, visible", "(~hidden, visible"),
)


@answers.right
def by_sorting(hidden):
    order = hidden.int().argsort(dim=1, stable=True)
    return order[:, : int((~hidden[0]).sum())], order.argsort(dim=1)


@answers.right
def as_in_the_chapter(hidden):
    noise = hidden + torch.linspace(0, 0.9, hidden.shape[1])
    return random_masking(noise, int((~hidden[0]).sum()))


@answers.right
def in_a_loop(hidden):
    visible, restore = [], []
    for row in hidden:
        shown = [place for place in range(len(row)) if not row[place]]
        order = shown + [place for place in range(len(row)) if row[place]]
        visible.append(shown)
        restore.append([order.index(place) for place in range(len(row))])
    return torch.tensor(visible), torch.tensor(restore)


@answers.right
def by_numpy(hidden):
    order = np.argsort(hidden.numpy(), axis=1, kind="stable")
    back = np.argsort(order, axis=1)
    visible = order[:, : (~hidden[0]).sum()].copy()
    return [torch.from_numpy(visible).long(), torch.from_numpy(back).long()]


@answers.wrong("returned-nothing")
def without_return(hidden):
    order = hidden.int().argsort(dim=1, stable=True)
    visible, restore = order[:, : int((~hidden[0]).sum())], order.argsort(dim=1)
    print(visible.shape, restore.shape)


@answers.wrong("one-result")
def restore_alone(hidden):
    return hidden.int().argsort(dim=1, stable=True).argsort(dim=1)


@answers.wrong("number-of-results")
def three_results(hidden):
    order = hidden.int().argsort(dim=1, stable=True)
    return order[:, : int((~hidden[0]).sum())], order.argsort(dim=1), hidden


@answers.wrong("count-of-each-image")
def count_of_each_image(hidden):
    order = hidden.int().argsort(dim=1, stable=True)
    return order[:, : (~hidden).sum(dim=1)], order.argsort(dim=1)


@answers.wrong("not-in-the-order-of-the-picture")
def equal_values_mixed(hidden):
    """As by a sort that is not stable, on some processors."""
    mixed = 7 * torch.arange(hidden.shape[1]) % 16
    order = (16 * hidden + mixed).argsort(dim=1)
    return order[:, : int((~hidden[0]).sum())], order.argsort(dim=1)


@answers.wrong("mask-tokens-mixed")
def last_mask_token_first(hidden):
    order = hidden.int().argsort(dim=1, stable=True)
    visible = order[:, : int((~hidden[0]).sum())]
    return visible, torch.where(hidden, hidden.shape[1] - hidden.cumsum(dim=1), order.argsort(dim=1))


@answers.wrong(UNKNOWN)
def not_cut(hidden):
    order = hidden.int().argsort(dim=1, stable=True)
    return order, order.argsort(dim=1)
