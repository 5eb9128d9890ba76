"""Answers to exercise without_labels.targets."""

import numpy as np
import torch
import torch.nn.functional as F
from einops import reduce

from answers import UNKNOWN, Answers

answers = Answers("without_labels.targets")

answers.edits(
    ("rows-alone", "dim=0", "dim=1"),
    ("temperature-multiplied", "/ temperature", "* temperature"),
    ("three-rounds", "range(rounds)", "range(3)"),
    ("gradient-recorded", "outputs.detach()", "outputs.clone()"),
    (UNKNOWN, "return shares / shares.sum(dim=1", "return shares / shares.sum(dim=0"),
    (UNKNOWN, ".exp()", ".exp2()"),
)


@answers.right
def with_logarithms(outputs, temperature, rounds):
    table = outputs.detach() / temperature
    for _ in range(rounds):
        table = table - table.logsumexp(dim=0)
        table = F.log_softmax(table, dim=1)
    return table.softmax(dim=1)


@answers.right
def with_numpy(outputs, temperature, rounds):
    table = outputs.detach().numpy().astype(np.float64) / temperature
    table = np.exp(table - table.max())
    for _ in range(rounds):
        table /= table.sum(0, keepdims=True)
        table /= reduce(table, "b k -> b 1", "sum")
    return torch.from_numpy(table / table.sum(1, keepdims=True)).float()


@answers.right
def in_loops(outputs, temperature, rounds):
    with torch.no_grad():
        table = [((row - outputs.max()) / temperature).exp() for row in outputs]
        for _ in range(rounds):
            total = sum(table)
            table = [row / total for row in table]
            table = [row / row.sum() for row in table]
        return torch.stack([row / row.sum() for row in table])


@answers.right
def divided_by_k_and_b_too(outputs, temperature, rounds):
    """As the authors do."""
    B, K = outputs.shape
    table = (outputs.detach() / temperature).flatten().softmax(0).reshape(B, K)
    for _ in range(rounds):
        table = torch.einsum("bk,k->bk", table, 1 / table.sum(0)) / K
        table = torch.einsum("bk,b->bk", table, 1 / table.sum(1)) / B
    return table / table.sum(1, keepdim=True)


@answers.wrong("outputs-clamped")
def clamped(outputs, temperature, rounds):
    return with_logarithms(outputs.clamp(max=3), temperature, rounds)


@answers.wrong("overflow")
def nothing_subtracted(outputs, temperature, rounds):
    shares = (outputs.detach() / temperature).exp()
    for _ in range(rounds):
        shares = shares / shares.sum(dim=0)
        shares = shares / shares.sum(dim=1, keepdim=True)
    return shares / shares.sum(dim=1, keepdim=True)


@answers.wrong("no-softmax-without-rounds")
def not_divided_at_the_end(outputs, temperature, rounds):
    shares = ((outputs.detach() - outputs.max()) / temperature).exp()
    for _ in range(rounds):
        shares = shares / shares.sum(dim=0, keepdim=True)
        shares = shares / shares.sum(dim=1, keepdim=True)
    return shares


@answers.wrong("gradient-not-cut")
def with_numpy_alone(outputs, temperature, rounds):
    return with_numpy(torch.from_numpy(outputs.numpy()), temperature, rounds)


@answers.wrong(UNKNOWN)
def temperature_squared(outputs, temperature, rounds):
    return with_logarithms(outputs, temperature**2, rounds)
