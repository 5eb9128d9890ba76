"""Which bias belongs to which query, value or output number, found by gradients as in `roles`."""

from collections.abc import Callable
from dataclasses import replace

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.heads import Vectors, close
from vit_course.checks.tools.roles import Head, Watched
from vit_course.checks.tools.tensors import equal

_DRAWS = 4


def draw_biases(
    watched: Watched, heads: list[Head], spare: torch.Tensor, tokens: Callable[[], torch.Tensor], draw
) -> tuple[list[Vectors], torch.Tensor]:
    """Gives all biases random numbers; returns the heads with theirs, and what is added last, (D,).

    A bias has the gradient of a number that is added to each token's product with its unit. A key's bias has none:
    it adds the same to all the scores of a query.

    Args:
        watched: the attention, its output the D numbers of the asking token, with biases of 0.
        heads: as found.
        spare: (n,) the places of all biases in the row.
        tokens: draws tokens (T, D) that the attention reads.
        draw: of the check.

    Raises:
        Wrong: a number that is the bias of none of them, and acts.
    """
    units = torch.cat([torch.cat([head.query, head.value]) for head in heads])  # (2 D, D)
    seen, wanted = [], []
    for _ in range(_DRAWS):
        x = tokens()
        weights = draw.normal(x.shape[1])
        slopes = watched.slopes(x, weights)
        shares = torch.linalg.lstsq(x.T, slopes[units].T).solution  # (T, 2 D): how much of each token
        seen.append(slopes[spare])
        wanted.append(torch.cat([shares.sum(0), weights]))
    seen, wanted = torch.stack(seen, 1), torch.stack(wanted, 1)  # (n, draws), (3 D, draws)
    apart = (seen[:, None] - wanted).norm(dim=2) / wanted.norm(dim=1)  # (n, 3 D)
    owner, acts = apart.argmin(1), seen.norm(dim=1) > 1e-4 * wanted.norm(dim=1).median()
    if len(spare) and (acts & (apart.amin(1) > 1e-2)).any():
        raise Wrong("bias-elsewhere", "A learned vector is used in a place where attention has no bias.")
    row = watched.flat.get()
    row[spare] = draw.normal(len(spare))
    watched.flat.set(row)
    added = torch.zeros(len(wanted)).index_add(0, owner[acts], row[spare][acts])
    number, size = len(heads), len(heads[0].query)
    of_heads = added[: 2 * number * size].reshape(number, 2, size)
    vectors = [
        replace(Vectors.of(head, row), query_bias=query, value_bias=value)
        for head, (query, value) in zip(heads, of_heads, strict=True)
    ]
    return vectors, added[2 * number * size :]


def same_with_biases(received: torch.Tensor, right: torch.Tensor, axes: str) -> None:
    """Raises `Wrong` where the output, with random biases, is not the right one; without them it was."""
    if not close(received, right):
        sentence = "With biases that are not 0, the output is wrong: one of them is used where it should not be."
        equal(received, right, "bias-elsewhere", sentence, axes=axes)
