"""Finds the head and the patch on which an explorer opens by default; opening_view.js does the same in a browser."""

import torch

from vit_course.explorer.panel import Maps, QueriesAndKeys
from vit_course.maps.models.tokens import Tokens

SIDE = 6  # queries are tried in a grid of at most 6 x 6
FAR = 0.25  # of the picture's height or width
FEW = 8  # patches


def find_opening(attention: QueriesAndKeys | Maps, order: Tokens) -> dict[str, int] | None:
    """Finds, in the later half of the layers, the head and the patch that attend most to a few distant patches.

    Only the weight above the mean over all tried queries counts, so that a head that looks at the same place from
    everywhere scores 0. Patches at the border are left out, as queries and as keys, if there are others.

    Args:
        attention: of one image.
        order: which of its tokens are patches.

    Returns:
        a dict of layer, head and query; None if no patch is far from another, or all queries have the same maps.
    """
    rows, columns = order.grid
    place = torch.arange(rows * columns)
    row, column = place // columns, place % columns  # (N,)
    tried = torch.tensor([r * columns + c for r in _spread(rows) for c in _spread(columns)])  # (Q,)
    apart = torch.maximum((row - row[tried][:, None]).abs() / rows, (column - column[tried][:, None]).abs() / columns)
    inside = _inside(row, rows) & _inside(column, columns)
    counts = (apart > FAR) & inside  # (Q, N)
    best, found = 1e-6, None
    for layer in range(attention.layers // 2, attention.layers):
        for head in range(attention.heads):
            maps = torch.stack([attention.row(layer, head, int(patch) + order.num_prefix) for patch in tried])
            maps = maps[:, order.num_prefix :]  # (Q, N)
            more = (maps - maps.mean(dim=0)).clamp_min(0) * counts
            sums = more.topk(min(FEW, len(place)), dim=1).values.sum(dim=1)  # (Q,)
            if sums.max() > best:
                best = float(sums.max())
                found = {"layer": layer, "head": head, "query": int(tried[sums.argmax()]) + order.num_prefix}
    return found


def _spread(count: int) -> list[int]:
    first = int(count > 2)
    inner = count - 2 * first
    tried = min(SIDE, inner)
    return [first + inner * (2 * each + 1) // (2 * tried) for each in range(tried)]


def _inside(at: torch.Tensor, count: int) -> torch.Tensor:
    return (at > 0) & (at < count - 1) if count > 2 else torch.ones_like(at, dtype=torch.bool)
